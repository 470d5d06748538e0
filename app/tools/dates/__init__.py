"""Which days a question means: its words, its zone, and the clock the owner lived by."""
