"""The governed chart server: one patient, as of one moment, over MCP."""
