"""What was tried against the running connector, kept so that it goes on failing."""
