"""The apps: registered with us, or described at the address that is their id."""
