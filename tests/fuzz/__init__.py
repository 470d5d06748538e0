"""Hostile input in quantity, the same on every run; VITALS_FUZZ_TIMES=20 tries twenty times as much."""
