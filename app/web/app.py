"""Every address of this service in one place, and the order in which a request meets what guards it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from app.errors import SealBroken, StoreUnavailable, TooManyRequests
from app.identity import Caller
from app.web.accesslog import AccessLog
from app.web.bearer import Bearer
from app.web.guard import ANY_HOST_PATHS, MCP_PATHS, BodyLimit, HostCheck, OriginCheck
from app.web.headers import Outermost
from app.web.health import health_routes
from app.web.pages import Pages
from app.web.replies import for_error
from app.web.wire import Wire

# Asked by programs that read JSON errors; everywhere else a browser that wants HTML gets a page.
_FOR_PROGRAMS = ("/mcp", "/token", "/register", "/revoke", "/.well-known/", "/healthz", "/readyz")

Lifespan = (
    Callable[[Starlette], AbstractAsyncContextManager[None]]
    | Callable[[Starlette], AbstractAsyncContextManager[Mapping[str, Any]]]
)


def build_web(
    *,
    public_url: str,
    mcp: ASGIApp,
    verify: Callable[[str], Awaitable[Caller]],
    ping: Callable[[], Awaitable[None]],
    version: str,
    pages: Pages,
    routes: Sequence[BaseRoute],
    lifespan: Lifespan,
) -> Starlette:
    """Put the parts behind their addresses.

    Args:
        public_url: The issuer, without a trailing slash.
        mcp: The SDK's transport, as an ASGI application.
        verify: Turns a bearer token into its `Caller`.
        ping: The store's.
        version: Ours.
        pages: Renders error pages.
        routes: Those of the authorization server, the sign-in and the owner's pages.
        lifespan: Opens and closes what the parts hold.
    """
    guarded = protect_mcp(mcp, public_url=public_url, verify=verify)
    every = [
        *(Route(path, guarded) for path in sorted(MCP_PATHS)),
        *health_routes(ping, version=version),
        *routes,
    ]

    async def failed(request: Request, exc: Exception) -> Response:
        # Not `request.url`: it decodes the query too, and raises where that is no UTF-8.
        if request.scope["path"].startswith(_FOR_PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
            return for_error(exc)
        return pages.for_error(exc)

    paths = [route.path for route in every if isinstance(route, Route)]
    app = Starlette(
        routes=every,
        middleware=[
            Middleware(AccessLog, paths=paths, quiet=ANY_HOST_PATHS),
            Middleware(Outermost, https=public_url.startswith("https:"), answer=failed),
            Middleware(HostCheck, public_url=public_url, answer=failed),
            Middleware(BodyLimit, answer=failed),
        ],
        exception_handlers=dict.fromkeys((HTTPException, StoreUnavailable, SealBroken, TooManyRequests), failed),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # a redirected POST is lost, or goes to http behind a proxy
    return app


def protect_mcp(mcp: ASGIApp, *, public_url: str, verify: Callable[[str], Awaitable[Caller]]) -> ASGIApp:
    """Put around the SDK what a request to `/mcp` meets: who asks, from which page, and in which form."""
    return Bearer(
        OriginCheck(Wire(mcp), public_url=public_url),
        verify=verify,
        metadata_url=f"{public_url}/.well-known/oauth-protected-resource/mcp",
    )
