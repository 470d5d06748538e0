"""The protocol half of the authorization server, seen from outside over HTTP."""
