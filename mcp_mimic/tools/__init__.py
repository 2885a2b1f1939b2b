"""The MCP tools, one module a family."""
