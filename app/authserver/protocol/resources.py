"""The one protected resource, and which spellings of its address an app may use.

Source: RFC 8707 section 2; MCP authorization 2026-07-28 ("canonical server URI").
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"https": 443, "http": 80}


class Resource:
    """The resource that every token is bound to, always under the same name."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._canonical = _canonical(uri)

    def accepts(self, values: Sequence[str]) -> bool:
        """Say whether the `resource` parameters of a request name this resource, or are left out.

        People type the address, so scheme and host in capitals and a slash at the end are the same resource. The
        server's bare origin is not: an app that means it would not know what it got a token for.
        """
        return not values or (len(values) == 1 and _canonical(values[0]) == self._canonical)


def _canonical(uri: str) -> tuple[str, str, int | None, str] | None:
    """Return scheme, host, port and path for comparing; None for what no resource of ours looks like."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or "@" in parts.netloc or "#" in uri or "?" in uri or not uri.isascii():
        return None
    return parts.scheme, host, port or _DEFAULT_PORTS.get(parts.scheme), parts.path.removesuffix("/")
