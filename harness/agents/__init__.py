"""Systems that answer over MCP without a shell or a container: the oracle, and probes of the scores."""
