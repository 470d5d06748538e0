"""The owner in person: consent, the way through Oura and back, visits, and leaving."""
