"""Oura's API v2: what it offers, how its answers are read, how it is asked, how one signs in there."""

import logging

# httpx2 logs the address of every request, query string included, at INFO: ours hold days, cursors and, where Oura's
# older revocation endpoint leaves no choice, a token.
for _chatty in ("httpx2", "httpcore2"):
    logging.getLogger(_chatty).setLevel(logging.WARNING)
