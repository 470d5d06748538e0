"""How often strangers may ask: who asks, what it costs, and the count of it."""
