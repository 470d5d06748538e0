"""A web half around a stand-in for the SDK and for the verifier, and requests against it without sockets."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.authserver.issued.verify import TokenInvalid
from app.errors import StoreUnavailable
from app.identity import READ_SCOPE, Caller
from app.web.app import build_web
from app.web.pages import Pages

PUBLIC_URL = "https://vitals.example.com"
LIVE = "live-token"
CALLER = Caller("owner-1", "grant-1", "client-1", frozenset({READ_SCOPE}))


class FakeSdk:
    """Reads its body as the SDK does and remembers what reached it."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        self.requests.append({**scope, "body": body, "headers": dict(request.headers)})
        await JSONResponse({"jsonrpc": "2.0", "id": 1, "result": {}})(scope, receive, send)


async def verify(token: str) -> Caller:
    if token == LIVE:
        return CALLER
    if token == "narrow":
        return Caller("owner-1", "grant-1", "client-1", frozenset({"other:scope"}))
    if token == "store-down":
        raise StoreUnavailable("canary: the store is down")
    raise TokenInvalid("unknown")


class Web:
    """The web half, with a few routes that fail in known ways."""

    def __init__(self, public_url: str = PUBLIC_URL, ping: Callable[[], Any] | None = None) -> None:
        self.sdk = FakeSdk()
        self.public_url = public_url

        async def alive() -> None:
            return None

        async def page(_request: Request) -> Response:
            return HTMLResponse("<p>page", headers={"cache-control": "max-age=60"})

        async def form(request: Request) -> Response:
            return JSONResponse({"length": len(await request.body())})

        async def broken(_request: Request) -> Response:
            raise RuntimeError("canary: a reading of 62")

        async def locked(_request: Request) -> Response:
            raise StoreUnavailable("canary: the store is down")

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            yield

        self.app = build_web(
            public_url=public_url,
            mcp=self.sdk,
            verify=verify,
            ping=ping or alive,
            version="0",
            pages=Pages(public_url=public_url),
            routes=[
                Route("/page", page, methods=["GET"]),
                Route("/token", form, methods=["POST"]),
                Route("/form", form, methods=["POST"]),
                Route("/broken", broken, methods=["GET"]),
                Route("/locked", locked, methods=["GET"]),
            ],
            lifespan=lifespan,
        )

    async def ask(self, method: str, path: str, *, token: str | None = LIVE, **more: Any) -> httpx2.Response:
        headers = [("authorization", f"Bearer {token}")] if token and path.startswith("/mcp") else []
        headers += list(dict(more.pop("headers", {})).items())
        transport = httpx2.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=self.public_url) as client:
            client.headers.clear()
            return await client.request(method, path, headers=headers, **more)

    async def call(self, message: object = None, **more: Any) -> httpx2.Response:
        """POST a JSON-RPC message to /mcp."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"} if message is None else message
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        return await self.ask(
            "POST", "/mcp", content=json.dumps(message), headers=headers | more.pop("headers", {}), **more
        )
