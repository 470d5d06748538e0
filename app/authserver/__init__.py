"""The OAuth 2.1 server that apps meet: our policy, Authlib's protocol."""
