"""What records are to the tools: their days and fields, samples put together, units, and the form they go out in."""
