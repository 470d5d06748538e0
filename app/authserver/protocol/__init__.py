"""OAuth 2.1 as apps speak it: discovery, requests and answers."""
