"""The commands of `mcp-mimic`, grouped by what they work on."""
