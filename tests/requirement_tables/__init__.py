"""Tables of what is demanded of this connector and which test shows it; `tests.requirements` puts them together."""
