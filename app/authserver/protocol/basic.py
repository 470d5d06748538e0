"""HTTP Basic, read as OAuth wants it."""

import base64
import binascii
from urllib.parse import unquote_plus


def basic_credentials(header: str | None) -> tuple[str, str] | None:
    """Read an HTTP Basic header, each half form-decoded (RFC 6749 section 2.3.1); None if there is none to read.

    Authlib's reader keeps `+` as it is and raises on bytes that are not UTF-8.
    """
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (unquote_plus(name), unquote_plus(secret)) if colon else None
