"""A stand-in for Oura with its measured behaviours, for the demo and the tests."""
