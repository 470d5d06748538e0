"""`health_today`: last night and this morning, part by part."""
