"""The owner's credential at a source: sealed at rest, refreshed once however many ask."""
