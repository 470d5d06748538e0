"""Redirect URIs as pure rules: which may be registered, which match, and the address an answer is sent to.

Nothing here is stored or fetched. An unregistered redirect URI never reaches `success_location` or `error_location`.

Source: RFC 6749 section 3.1.2, RFC 8252 section 7.3 (loopback ports), RFC 9207 (`iss`), OAuth 2.1 section 2.3.
"""

import re
from typing import Protocol
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from app.errors import BadRequest

MAX_REDIRECT_CHARS = 1024
MAX_REDIRECTS = 20

CURSOR_REDIRECT = "cursor://anysphere.cursor-mcp/oauth/callback"
"""The one private-use scheme served: Cursor registers it beside its https redirect, and refusing one refuses all.

Any program can claim a private-use scheme on the owner's machine, so every other one is refused: apps have loopback.
"""

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})  # as `urlsplit` gives them
_LOOPBACK = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?((?:[/?].*)?)")
# A name or an address, with nothing behind the bracket of an IPv6 one: `hostname` reads `[::1].evil.example` as `::1`.
PLAIN_AUTHORITY = re.compile(r"(?:[^@]*@)?(?:[A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_URI_CHARACTERS = re.compile(r"(?:[A-Za-z0-9\-._~:/?\[\]@!$&'()+,;=]|%[0-9A-Fa-f]{2})+")

_ANSWER_PARAMETERS = frozenset({"code", "state", "iss", "error", "error_description", "error_uri"})
"""Names this server adds to the redirect URI. One that already carries them could forge or double an answer."""


class BadRedirect(BadRequest):
    """A redirect URI that may not be registered."""


class Destination(Protocol):
    """Where an answer to an authorization request goes."""

    @property
    def redirect_uri(self) -> str:
        """The validated redirect URI."""

    @property
    def state(self) -> str | None:
        """The app's own value, returned untouched; None if it sent none."""


def check_redirect(uri: object) -> str:
    """Return the redirect URI if it may be registered: https, http on loopback, or Cursor's own.

    Raises:
        BadRedirect: It may not; the text says why and never repeats the URI.
    """
    if not isinstance(uri, str) or not uri:
        raise BadRedirect("A redirect URI must be a non-empty string.")
    if uri == CURSOR_REDIRECT:
        return uri
    _check_characters(uri)
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadRedirect("A redirect URI has a host or port that cannot be read.") from None
    if parts.scheme not in {"https", "http"}:
        raise BadRedirect("A redirect URI must use https, or http on loopback.")
    if not host or port == 0 or not uri.startswith(f"{parts.scheme}://"):
        raise BadRedirect("A redirect URI must name a host.")
    # A browser decodes `%E3%80%82` to a dot, so the owner would be shown another host than the answer goes to.
    if not PLAIN_AUTHORITY.fullmatch(parts.netloc):
        raise BadRedirect("A redirect URI must write its host in plain ASCII, without percent-encoding.")
    if "@" in parts.netloc:
        raise BadRedirect("A redirect URI must not have a user name or password.")
    if parts.scheme == "http" and host not in LOOPBACK_HOSTS:
        raise BadRedirect("A redirect URI over http must point to localhost, 127.0.0.1 or [::1].")
    if any(name in _ANSWER_PARAMETERS for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        raise BadRedirect(f"A redirect URI must not carry {', '.join(sorted(_ANSWER_PARAMETERS))} in its query.")
    return uri


def _check_characters(uri: str) -> None:
    if len(uri) > MAX_REDIRECT_CHARS:
        raise BadRedirect(f"A redirect URI has {len(uri)} characters; at most {MAX_REDIRECT_CHARS} are accepted.")
    if "#" in uri:
        raise BadRedirect("A redirect URI must not have a fragment.")
    if "*" in uri:
        raise BadRedirect("A redirect URI must not have a wildcard; register each address.")
    if not _URI_CHARACTERS.fullmatch(uri):
        raise BadRedirect("A redirect URI has characters that RFC 3986 does not allow; percent-encode them.")


def redirect_matches(registered: str, requested: str) -> bool:
    """Say whether a requested redirect URI is the registered one: the same string, but for the port on loopback.

    Native apps listen on a port the system gives them, so on http loopback the port is ignored; the host is not.
    """
    if registered == requested:
        return True
    ours, theirs = _LOOPBACK.fullmatch(registered), _LOOPBACK.fullmatch(requested)
    if ours is None or theirs is None:
        return False
    port = theirs[2]
    if port is not None and not 1 <= int(port) <= 65535:
        return False
    return (ours[1], ours[3]) == (theirs[1], theirs[3])


def stays_on_this_computer(redirect_uri: str) -> bool:
    """Say whether an accepted redirect URI leads to a program on the computer that the browser runs on."""
    return redirect_uri == CURSOR_REDIRECT or urlsplit(redirect_uri).hostname in LOOPBACK_HOSTS


def leads_here(redirect_uri: str, public_url: str) -> bool:
    """Say whether a redirect URI leads to this server itself; on loopback under any of its names."""
    there, here = urlsplit(redirect_uri), urlsplit(public_url)
    same = there.hostname == here.hostname or {there.hostname, here.hostname} <= LOOPBACK_HOSTS
    ports = {"https": 443, "http": 80}
    return same and (there.port or ports.get(there.scheme)) == (here.port or ports.get(here.scheme))


def success_location(request: Destination, code: str, issuer: str) -> str:
    """Return the address that hands the app its code, with `state` as it was sent and `iss` exactly once."""
    return _location(request, [("code", code)], issuer)


def error_location(request: Destination, error: str, description: str, issuer: str) -> str:
    """Return the address that tells the app what went wrong, with `state` as it was sent and `iss` exactly once."""
    return _location(request, [("error", error), ("error_description", description)], issuer)


def _location(request: Destination, answer: list[tuple[str, str]], issuer: str) -> str:
    # Appended: what the app registered stays byte for byte, while Authlib's `add_params_to_uri` re-encodes its query.
    if request.state is not None:
        answer.append(("state", request.state))
    answer.append(("iss", issuer))
    glue = "?" if "?" not in request.redirect_uri else "&" if not request.redirect_uri.endswith(("?", "&")) else ""
    return request.redirect_uri + glue + urlencode(answer, quote_via=quote)
