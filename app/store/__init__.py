"""Small durable records: the primitives, their two implementations, and sealing."""
