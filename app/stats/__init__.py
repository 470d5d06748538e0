"""Pure functions over daily series."""
