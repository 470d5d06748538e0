"""vitals: a remote MCP connector that a person hosts for themselves."""

__version__ = "0.1.0"
