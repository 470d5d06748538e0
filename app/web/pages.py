"""Our HTML: templates, the headers every page carries, and the static files. What a page says is decided elsewhere."""

import hashlib
import os
from base64 import b64encode
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.errors import Outage, SealBroken, StoreUnavailable, TooManyRequests

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_STATIC = _HERE / "static"

# No form-action: Chrome holds it against every hop that follows a form post, so it would stop the way to Oura and to
# the app. No Cross-Origin-Opener-Policy: apps open us in a window and wait for it to come back to them.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'"
)
# The other headers that every answer carries are those of `headers.Outermost`.
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # Not no-referrer: under it browsers send `Origin: null` even with a post to ourselves, and then our own form could
    # not be told from a foreign one (Fetch standard, "append a request `Origin` header"). Other sites get nothing.
    "Referrer-Policy": "same-origin",
}

_WORDS = {
    403: ("Not allowed", "This page is not for you, or your browser did not send what shows that it is."),
    404: (
        "Nothing here",
        "There is no page at this address. It may have been mistyped, or cut off where it was copied.",
    ),
    405: (
        "Not that way",
        "This address is not a page to open: it takes what a button on one of the pages sends. Nothing was done. Open "
        "the page anew and press the button there.",
    ),
    413: (
        "Too large",
        "What your browser sent is larger than anything a page here sends, so it was not read and nothing was changed. "
        "If an app sent you here, start again there.",
    ),
}
_MISDIRECTED = 421
_STORE_UNAVAILABLE: dict[Outage, tuple[str, str]] = {
    "unreachable": (
        "The store does not answer",
        "This server cannot reach its own records at the moment, so it lets nobody in. Try again in a minute.",
    ),
    "read_only": (
        "Nothing can be changed at the moment",
        "This server can read its own records but not write to them, so nobody can sign in and nothing was changed. "
        "Try again in a minute.",
    ),
    "full": (
        "The store is full",
        "This server has no room left to write anything down, so nobody can sign in and nothing was changed. Apps that "
        "are connected go on while they can. Whoever runs it has to make room; then try again.",
    ),
    "unusable": (
        "The store cannot be used",
        "This server cannot use its own records as they are, so it lets nobody in. Trying again does not help: whoever "
        "runs it finds the reason in its log, or with the command vitals check.",
    ),
}
_SEAL_BROKEN = "The stored sign-in cannot be opened"
_TOO_MANY = "Please wait a little"
_FAILURE = (
    "Something broke here",
    "The fault is ours, not yours. Try again; if it stays, whoever runs this server finds the reason in its log.",
)


class Pages:
    """Renders templates; it is the `Render` that the sign-in asks for.

    Args:
        public_url: Our own origin, shown on every page as the one who runs this.
        sandbox: Every page then says that there is only sample data.
    """

    def __init__(self, *, public_url: str, sandbox: bool = False) -> None:
        self._globals = {
            "public_url": public_url,
            "host": urlsplit(public_url).netloc,
            "sandbox": sandbox,
            "asset": _asset_names().__getitem__,
        }
        self._sheet = (_STATIC / "style.css").read_text()

    @cached_property
    def _environment(self) -> "Environment":
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- with the first page

        made = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        made.globals.update(self._globals)
        return made

    def __call__(
        self, template: str, /, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: object
    ) -> Response:
        """Render one page."""
        html = self._environment.get_template(template).render(context)
        return HTMLResponse(html, status, headers={**_HEADERS, **(headers or {})})

    def for_error(self, exc: Exception) -> Response:
        """Answer for an exception that no route handled: the same table as `replies.for_error`, for people.

        Nothing of its text is shown: it may be meant for others, or hold what nobody should read.
        """
        if isinstance(exc, StoreUnavailable):
            return self._message(503, *_STORE_UNAVAILABLE[exc.outage], {"Retry-After": "30"})
        if isinstance(exc, SealBroken):
            return self._message(503, _SEAL_BROKEN, exc.public)
        if isinstance(exc, TooManyRequests):
            return self._message(429, _TOO_MANY, _too_many(exc), {"Retry-After": str(exc.retry_after_s)})
        if isinstance(exc, HTTPException) and exc.status_code == _MISDIRECTED:
            return self._elsewhere()
        if isinstance(exc, HTTPException):
            status = exc.status_code
            words = _WORDS.get(status, (HTTPStatus(status).phrase, "The request could not be answered."))
            return self._message(status, *words, exc.headers, ways=True)
        return self._message(500, *_FAILURE, ways=True)

    def _message(
        self, status: int, title: str, text: str, headers: Mapping[str, str] | None = None, *, ways: bool = False
    ) -> Response:
        """Render a page of a few words; `ways` adds where to go on from it."""
        return self("message.html", status=status, headers=headers, title=title, text=text, ways=ways)

    def _elsewhere(self) -> Response:
        """Answer under a host that is not ours: nothing else is served there, so the style sheet comes along."""
        digest = b64encode(hashlib.sha256(self._sheet.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
        )
        headers = {"Content-Security-Policy": policy}
        return self("elsewhere.html", status=_MISDIRECTED, headers=headers, sheet=self._sheet)


def _too_many(exc: TooManyRequests) -> str:
    return (
        "Within a few minutes this was asked for far more often than a person does, from your network or by many at "
        "once. Nothing was changed, and apps that are connected go on as before. "
        f"Wait {exc.wait}, then go back to the page before and try once more."
    )


class _Static(StaticFiles):
    """Our own files. An address that names the content (`?v=`) may be kept for good, any other for an hour."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file, and say how long it keeps."""
        response = await super().get_response(path, scope)
        if response.status_code < 400:
            named = scope["query_string"].startswith(b"v=")
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if named else "max-age=3600"
        return response

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Answer from memory: a file that stays open until it is taken would be a second descriptor for a stranger."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        if not isinstance(response, FileResponse):
            return response  # it is held already
        headers = {name: value for name, value in response.headers.items() if name != "accept-ranges"}
        return Response(Path(full_path).read_bytes(), status_code, headers)


def static_routes() -> list[BaseRoute]:
    """Serve our own few files."""
    return [Mount("/static", _Static(directory=_STATIC), name="static")]


def _asset_names() -> dict[str, str]:
    """Name each static file by its content, so that a browser never mixes a new page with an old style sheet."""
    return {
        path.name: f"/static/{path.name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
        for path in _STATIC.iterdir()
    }
