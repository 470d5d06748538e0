"""The outermost layer: applies faults, notes each request, and can end a connection without an answer."""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import orjson
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.simulator.faults import Fault, Faults
from app.simulator.filters import BadQuery
from app.simulator.pages import Cursor, unseal
from app.simulator.watch import Watch

_WINDOW_S = 300
_HTML = (
    "<!DOCTYPE html><html><head><title>Just a moment...</title></head>"
    "<body><h1>Sorry, something went wrong</h1><p>Ray ID: 0000</p></body></html>"
)
_MEGABYTE = b" " * 2**20
_SENT_SO = ("drip", "gigantic", "bomb")
_RESHAPING = ("truncate", "wrong_types", "repeat_cursor", "endless")
_DETAIL = {
    401: "The access token expired, is malformed or was revoked.",
    403: "Access forbidden. The user's Oura membership has expired and their data is not available via the API.",
    426: "Minimum App Version Error",
    429: "Request Rate Limit Exceeded.",
}


class Wire:
    """ASGI in, ASGI out."""

    def __init__(
        self, app: ASGIApp, *, faults: Faults, watch: Watch, now: Callable[[], float], rate_limit: int | None
    ) -> None:
        self._app = app
        self._faults = faults
        self._watch = watch
        self._now = now
        self.rate_limit = rate_limit  # data requests in 5 minutes; None for no limit
        self._recent: list[float] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Lifespan messages are not answered: there is nothing to start."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await _lifespan(receive, send)
            return
        path, method = str(scope["path"]), str(scope["method"])
        query = QueryParams(scope["query_string"])
        if path.startswith("/_sim/"):
            await self._app(scope, receive, send)
            return
        struck: dict[str, Fault] = {fault.kind: fault for fault in self._faults.take(path, method)}
        status: int | None = None
        try:
            status = await self._serve(scope, receive, send, struck, query)
        finally:
            self._watch.note(method, path, query, status, self._now())

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, struck: dict[str, Fault], query: QueryParams
    ) -> int | None:
        if fault := struck.get("latency"):
            await anyio.sleep(fault.seconds)
        if "cut_before" in struck:
            return await self._cut(receive, send)
        if fault := struck.get("html"):
            return await _send(send, fault.status, _HTML.encode(), {"content-type": "text/html; charset=UTF-8"})
        if fault := struck.get("status"):
            return await _send_status(send, fault, self._now())
        if self.rate_limit is not None and "/usercollection/" in scope["path"] and self._limited(self.rate_limit):
            return await _send_status(send, Fault("status", status=429, seconds=_WINDOW_S), self._now())
        if not struck.keys() & {"cut", "hold", "cut_body", *_SENT_SO, *_RESHAPING}:
            return await self._plain(scope, receive, send)
        status, headers, body = await self._handled(scope, receive)
        if "hold" in struck:
            await self._faults.hold()
        if "cut" in struck:
            return await self._cut(receive, send)
        body = _reshaped(body, struck, scope["path"], query, status)
        if "cut_body" in struck:
            await _start(send, status, headers | {"content-length": str(len(body))})
            await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
            return await self._cut(receive, send)
        return await _send_so(send, struck, status, body, headers)

    def _limited(self, limit: int) -> bool:
        now = self._now()
        self._recent = [at for at in self._recent if at > now - _WINDOW_S]
        self._recent.append(now)
        return len(self._recent) > limit

    async def _plain(self, scope: Scope, receive: Receive, send: Send) -> int | None:
        status: int | None = None

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)

        await self._app(scope, receive, noting)
        return status

    async def _handled(self, scope: Scope, receive: Receive) -> tuple[int, dict[str, str], bytes]:
        """Let the request be handled, and keep the answer."""
        status, headers, parts = 500, {}, []

        async def keeping(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = int(message["status"])
                headers = {name.decode(): value.decode() for name, value in message.get("headers", [])}
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, keeping)
        headers.pop("content-length", None)
        return status, headers, b"".join(parts)

    async def _cut(self, receive: Receive, send: Send) -> int | None:
        """End the connection: abort uvicorn's socket, or raise where there is none (an in-process client).

        Returns:
            None, in place of a status.
        """
        transport = getattr(getattr(send, "__self__", None), "transport", None)
        if transport is None:
            raise self._faults.cut_error()
        transport.abort()
        while (await receive())["type"] != "http.disconnect":  # or uvicorn would answer 500
            pass
        return None


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _start(send: Send, status: int, headers: dict[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def _send_so(send: Send, struck: dict[str, Fault], status: int, body: bytes, headers: dict[str, str]) -> int:
    """Send a body whole, or slowly, or far more than it is."""
    fault = next((struck[kind] for kind in _SENT_SO if kind in struck), None)
    if fault is None:
        return await _send(send, status, body, headers)
    squeeze = zlib.compressobj(9, wbits=31) if fault.kind == "bomb" else None
    await _start(send, status, headers | ({"content-encoding": "gzip"} if squeeze else {}))
    for piece in _bytes(body) if fault.kind == "drip" else _padded(body, fault.size_mb):
        if fault.kind == "drip":
            await anyio.sleep(fault.seconds)
        sent = squeeze.compress(piece) if squeeze else piece
        await send({"type": "http.response.body", "body": sent, "more_body": True})
    await send({"type": "http.response.body", "body": squeeze.flush() if squeeze else b""})
    return status


def _bytes(body: bytes) -> Iterator[bytes]:
    return (body[at : at + 1] for at in range(len(body)))


def _padded(body: bytes, size_mb: int) -> Iterator[bytes]:
    yield body
    for _ in range(size_mb):
        yield _MEGABYTE


async def _send(send: Send, status: int, body: bytes, headers: dict[str, str]) -> int:
    await _start(send, status, headers | {"content-length": str(len(body))})
    await send({"type": "http.response.body", "body": body})
    return status


async def _send_status(send: Send, fault: Fault, now_s: float) -> int:
    headers = {"content-type": "application/json"} | fault.headers
    if fault.status == 429:
        wait = int(fault.seconds)
        headers = {
            "retry-after": str(wait),
            "x-ratelimit-limit": "5000",
            "x-ratelimit-window": str(_WINDOW_S),
            "x-ratelimit-reset": str(int(now_s) + wait),
            "x-ratelimit-tier": "access_token",
        } | headers
    body = fault.body if fault.body is not None else {"detail": _DETAIL.get(fault.status, "Internal Server Error")}
    return await _send(send, fault.status, orjson.dumps(body), headers)


def _reshaped(body: bytes, struck: dict[str, Fault], path: str, query: QueryParams, status: int) -> bytes:
    if status == 200 and struck.keys() & {"wrong_types", "repeat_cursor", "endless"}:
        answer = orjson.loads(body)
        if "wrong_types" in struck:
            answer = _wrong(answer)
        elif "next_token" in answer:
            answer["next_token"] = _cursor(path.rsplit("/", 1)[-1], query, endless="endless" in struck)
        body = orjson.dumps(answer)
    return body[: len(body) // 2] if "truncate" in struck else body


def _cursor(collection: str, query: QueryParams, *, endless: bool) -> str:
    """Return a cursor back to this page; under `endless`, to the first page under a name not seen before."""
    given = query.get("next_token")
    try:
        here = unseal(given, collection) if given else None
    except BadQuery:
        here = None
    if here is None:
        here = Cursor(
            collection,
            query.get("start_datetime") or query.get("start_date") or "",
            query.get("end_datetime") or query.get("end_date") or "",
            0,
        )
    if not endless:
        return given or here.seal()
    return Cursor(here.collection, here.start, here.end, 0, here.nonce + 1).seal()


def _wrong(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _wrong(one) for name, one in value.items()}
    if isinstance(value, list):
        return {"0": [_wrong(one) for one in value]}
    if isinstance(value, bool) or value is None:
        return value
    return f"about {value}" if isinstance(value, int | float) else [value]
