"""The HTTP edge: routes, middleware, and the owner's pages."""
