"""What is to be said beside the numbers: what is missing and why, and what the owner went through."""
