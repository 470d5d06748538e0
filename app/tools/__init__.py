"""What a model can ask: the MCP server object, its tools, and the shape of their answers."""
