"""Our HTML: templates, the headers every page carries, and the static files. What a page says is decided elsewhere."""

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_HERE = Path(__file__).parent
_STATIC = _HERE / "static"

# No form-action: Chrome holds it against every hop that follows a form post, so it would stop the way to Oura and to
# the app. No Cross-Origin-Opener-Policy: apps open us in a window and wait for it to come back to them.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    # Not no-referrer: under it browsers send `Origin: null` even with a post to ourselves, and then our own form could
    # not be told from a foreign one (Fetch standard, "append a request `Origin` header"). Other sites get nothing.
    "Referrer-Policy": "same-origin",
}
_HSTS = {"Strict-Transport-Security": "max-age=31536000"}

_WORDS = {
    403: ("Not allowed", "This page is not for you, or your browser did not send what shows that it is."),
    404: ("Nothing here", "There is no page at this address."),
    405: ("Not that way", "This address does not answer that kind of request."),
    413: ("Too large", "The request is larger than this server takes."),
    421: ("Wrong address", "This server does not answer under that host name."),
}


class Pages:
    """Renders templates; it is the `Render` that the sign-in asks for.

    Args:
        public_url: Our own origin, shown on every page as the one who runs this.
        sandbox: Every page then says that there is only sample data.
    """

    def __init__(self, *, public_url: str, sandbox: bool = False) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(
            public_url=public_url,
            host=urlsplit(public_url).netloc,
            sandbox=sandbox,
            asset=_asset_names().__getitem__,
        )
        self._headers = _HEADERS | (_HSTS if public_url.startswith("https:") else {})

    def __call__(
        self, template: str, /, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: object
    ) -> Response:
        """Render one page."""
        html = self._environment.get_template(template).render(context)
        return HTMLResponse(html, status, headers={**self._headers, **(headers or {})})

    async def http_error(self, _request: Request, exc: Exception) -> Response:
        """Answer an `HTTPException` of a route with a page; its detail is ours to word, so it is not shown."""
        status = exc.status_code if isinstance(exc, HTTPException) else 500
        headers = exc.headers if isinstance(exc, HTTPException) else None
        title, text = _WORDS.get(status, (HTTPStatus(status).phrase, "The request could not be answered."))
        return self("message.html", status=status, headers=headers, title=title, text=text)

    async def store_unavailable(self, _request: Request, _exc: Exception) -> Response:
        """Answer a `StoreUnavailable` that reached the edge of a page."""
        return self(
            "message.html",
            status=503,
            headers={"Retry-After": "30"},
            title="The store does not answer",
            text="This server cannot reach its own records at the moment, so it lets nobody in. Try again in a minute.",
        )

    async def failure(self, _request: Request, _exc: Exception) -> Response:
        """Answer a fault of ours; what it was stands in the log."""
        return self(
            "message.html",
            status=500,
            title="Something broke here",
            text="The fault is ours, not yours. Nothing was changed by it. Try again, and look into the server's log.",
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


def static_routes() -> list[BaseRoute]:
    """Serve our own few files."""
    return [Mount("/static", _Static(directory=_STATIC), name="static")]


def _asset_names() -> dict[str, str]:
    """Name each static file by its content, so that a browser never mixes a new page with an old style sheet."""
    return {
        path.name: f"/static/{path.name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
        for path in _STATIC.iterdir()
    }
