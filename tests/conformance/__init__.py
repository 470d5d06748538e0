"""What other people's conformance tools say of the connector; each tool is pinned in `.ci`."""
