"""What this connector tells of itself: what can be asked, and how, and whether its sign-in works."""
