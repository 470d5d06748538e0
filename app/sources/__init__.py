"""Where data comes from: what a source offers, and the engine that turns a range of days into records."""
