"""What ties a form to the browser that was shown it: a cookie, a token under a key of ours, and the Origin header.

No page is written here and nothing is stored: a browser that only looks leaves nothing behind but its own cookie.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from app.errors import BadRequest
from app.store.crypto import Keys

FORM_MAX_BYTES = 64 * 1024  # an authorization request is a few hundred bytes; a `state` of several thousand still fits
FORM_MAX_FIELDS = 40
TOKEN_LIFE_S = 600  # as long as a sign-in may take
_COOKIE_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")  # token_urlsafe(32)

Verdict = Literal["good", "expired", "bad"]


class FormTokens:
    """Tokens that say: this browser was shown a form for exactly these values, not long ago."""

    def __init__(self, keys: Keys, *, now: Callable[[], float]) -> None:
        self._key = keys.derive("form token")
        self._accepted = keys.derive_all("form token")
        self._now = now

    def issue(self, purpose: str, secret: str, values: Sequence[str] = ()) -> str:
        """Make a token.

        Args:
            purpose: The form it belongs to; a token of one form is no good on another.
            secret: What only this browser has: the value of its cookie.
            values: Everything the form must send back unchanged.
        """
        issued_at = f"{int(self._now())}"
        return f"{issued_at}.{self._sign(self._key, [purpose, secret, issued_at, *values])}"

    def check(self, token: str, purpose: str, secret: str, values: Sequence[str] = ()) -> Verdict:
        """Judge a token that came back; one that is genuine but older than ten minutes is "expired"."""
        issued_at, _, signature = token.partition(".")
        signed = [purpose, secret, issued_at, *values]
        if not any(hmac.compare_digest(self._sign(key, signed).encode(), signature.encode()) for key in self._accepted):
            return "bad"
        return "good" if 0 <= self._now() - int(issued_at) <= TOKEN_LIFE_S else "expired"

    @staticmethod
    def _sign(key: bytes, parts: Iterable[str]) -> str:
        # Each part goes in with its length, so that no two lists of parts give the same bytes.
        message = b"".join(b"%d:%b" % (len(raw), raw) for raw in (part.encode() for part in parts))
        return hmac.new(key, message, hashlib.sha256).hexdigest()


class BrowserCookie:
    """One random cookie on our own pages; whatever is remembered about it is remembered by its hash.

    On https its name starts with `__Host-`, which no other host and no plain-http page can set. On http (loopback
    alone) it is neither so named nor `Secure`: not every browser keeps such a cookie there.
    """

    def __init__(self, name: str, *, public_url: str) -> None:
        self._secure = public_url.startswith("https:")
        self.name = f"__Host-{name}" if self._secure else name

    def read(self, request: Request) -> str | None:
        """Return the value this browser sent, if it looks like one of ours."""
        value = request.cookies.get(self.name, "")
        return value if _COOKIE_VALUE.fullmatch(value) else None

    def read_or_make(self, request: Request) -> str:
        """Return this browser's value, or a fresh one to `set`. Kept when present, so that a second tab stays good."""
        return self.read(request) or secrets.token_urlsafe(32)

    def set(self, response: Response, value: str, *, max_age_s: int | None = None) -> None:
        """Send the cookie; Lax, because a sign-in comes back to us by a link from another site."""
        response.set_cookie(
            self.name, value, max_age=max_age_s, path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def clear(self, response: Response) -> None:
        """Have the browser forget it."""
        response.delete_cookie(self.name, path="/", secure=self._secure, httponly=True, samesite="lax")


def fingerprint(value: str) -> str:
    """Return the hash under which a cookie or a `state` is remembered."""
    return hashlib.sha256(value.encode()).hexdigest()


def remembers(remembered: str, value: str) -> bool:
    """Say whether a fingerprint is that of this value, in the same time whatever the answer."""
    return hmac.compare_digest(remembered.encode(), fingerprint(value).encode())


def is_visit(request: Request) -> bool:
    """Say whether a GET opens a page in a window, so that somebody sees it.

    An image, a frame or a script of another site's page, or a page that is fetched in advance, is none. A browser too
    old to say so, and a program, say nothing and are believed.

    Source: W3C Fetch Metadata, `Sec-Fetch-Dest`; Fetch standard, `Sec-Purpose`.
    """
    ahead = request.headers.get("sec-purpose", "").strip().lower().startswith("prefetch")
    return not ahead and request.headers.get("sec-fetch-dest", "document") == "document"


def from_own_page(request: Request, public_url: str) -> bool:
    """Say whether a POST was sent by a page of ours.

    Every browser of today names its origin on a POST, so a foreign or opaque (`null`) one is refused. A request that
    says nothing at all about where it comes from is not a browser led astray by another site: for it the form token,
    which no other site can read, decides alone.

    Source: Fetch standard, "append a request `Origin` header"; W3C Fetch Metadata, `Sec-Fetch-Site`.
    """
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    origin = request.headers.get("origin")
    if origin is None:
        referer = request.headers.get("referer")
        origin = public_url if referer is None else _origin(referer)
    return origin == public_url


def _origin(url: str) -> str | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}"


def go(location: str) -> Response:
    """Send the browser on. 303: whatever the method was, the next request is a GET and carries no form."""
    return RedirectResponse(location, 303, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})


async def read_form(request: Request) -> dict[str, str]:
    """Read a small form in which no field stands twice.

    Raises:
        BadRequest: Another content type, too large, cut off, not UTF-8, or a repeated field.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise BadRequest("This address takes what a page of ours sends. Go back to that page and press its button.")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > FORM_MAX_BYTES:
                raise BadRequest(f"The form is larger than {FORM_MAX_BYTES} bytes. Start again from your app.")
    except ClientDisconnect:  # as a rule nobody sees this, but in the log it is no fault of ours
        raise BadRequest("The form was cut off. Go back and press the button again.") from None
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FORM_MAX_FIELDS, errors="strict")
    except ValueError:
        raise BadRequest("The form could not be read. Start again from your app.") from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise BadRequest("The form names a field twice. Start again from your app.")
    return form
