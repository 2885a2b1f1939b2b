"""The commands of `harness`, grouped by what they work on."""
