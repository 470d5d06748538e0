"""100,000 strangers register as fast as the machine takes them: what they leave, and who is kept waiting.

`python -m bench flood`. On the embedded store and on Redis: first each from an address of its own, as a proxy would
name it, then all from one. A connected app asks and renews all the while, and now and then someone new goes the whole
way to an answer.
"""

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import uvloop

from app.demo.walk import App, discover, sign_in
from bench.connector import slow_oura, vitals
from bench.figures import Figure, at_least, at_most, said
from bench.rate import answer
from bench.redis import Redis, redis
from bench.running import Child, silently

MANY = 100_000
_AT_ONCE = 16
_HONEST = 10
_PAUSE_S = 0.2
_BODY = json.dumps({"client_name": "A stranger", "redirect_uris": ["http://127.0.0.1:53682/callback"]}).encode()


@dataclass
class Seen:
    """What happened meanwhile."""

    statuses: Counter[int] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)  # of the connected app, for each request
    honest: int = 0


def measure(folder: Path, _rounds: int) -> Iterator[Figure]:
    """Flood both stores."""
    for kind in ("SQLite", "Redis"):
        place = folder / kind
        place.mkdir()
        with ExitStack() as stack:
            store = stack.enter_context(redis(place)) if kind == "Redis" else None
            settings = {"REDIS_URL": store.url, "SECRET_KEY": secrets.token_urlsafe(32)} if store else {}
            oura = stack.enter_context(slow_oura(place, latency_s=0))
            ours = stack.enter_context(vitals(place, oura.url, LOG_LEVEL="warning", **settings))
            yield from _flood(kind, ours, place / "data", store)


def _flood(kind: str, ours: Child, data: Path, store: Redis | None) -> Iterator[Figure]:
    calm = Seen()
    app = uvloop.run(_someone_new(ours))
    uvloop.run(_ask_on(app, calm, until=time.perf_counter() + 5))
    for what, spread in (("addresses", True), ("registrations from one address", False)):
        rss_mb, size_mb, began = ours.rss_mb(), _size_mb(data, store), time.perf_counter()
        seen = uvloop.run(_all(ours, app, spread=spread))
        took_s = time.perf_counter() - began
        name = f"{MANY:,} {what}, {kind}"
        counts = ", ".join(f"{count:,} x {status}" for status, count in sorted(seen.statuses.items()))
        yield said(f"{name}, registrations", MANY / took_s, f"{counts}; {took_s:.0f} s", unit="/s")
        yield at_least(f"{name}, honest new ones through", seen.honest, _HONEST, "register to tokens", unit="")
        rss, size = ours.rss_mb(), _size_mb(data, store)
        yield at_most(f"{name}, memory grown", rss - rss_mb, 20, f"{rss_mb:.1f} to {rss:.1f} MB", unit="MB")
        yield at_most(f"{name}, store grown", size - size_mb, 5, f"{size_mb:.2f} to {size:.2f} MB", unit="MB")
        waits, before = sorted(seen.waits_s), sorted(calm.waits_s)
        yield said(
            f"{name}, connected app, 99th percentile",
            _at(waits, 0.99) * 1000,
            f"median {_at(waits, 0.5) * 1000:.0f}, worst {waits[-1] * 1000:.0f} of {len(waits)} requests, none failed; "
            f"in calm {_at(before, 0.5) * 1000:.0f}, {_at(before, 0.99) * 1000:.0f}",
            unit="ms",
        )


async def _all(ours: Child, app: App, *, spread: bool) -> Seen:
    seen = Seen()
    asking = asyncio.create_task(_ask_on(app, seen, until=None))
    numbers = iter(range(MANY))
    strangers = [asyncio.create_task(_register(ours, numbers, seen, spread=spread)) for _ in range(_AT_ONCE)]
    honest = asyncio.create_task(_honest(ours, seen))
    await asyncio.gather(*strangers)
    await honest
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    if asking.done() and not asking.cancelled() and (failed := asking.exception()):
        raise failed
    return seen


async def _register(ours: Child, numbers: Iterator[int], seen: Seen, *, spread: bool) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", ours.port)
    for number in numbers:
        address = f"11.{number >> 16}.{number >> 8 & 255}.{number & 255}" if spread else "11.255.0.1"
        head = (
            f"POST /register HTTP/1.1\r\nHost: 127.0.0.1:{ours.port}\r\nX-Forwarded-For: {address}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n\r\n"
        )
        writer.write(head.encode() + _BODY)
        status, _ = await answer(reader)
        seen.statuses[status] += 1
    writer.close()


async def _honest(ours: Child, seen: Seen) -> None:
    """Let someone new through at each tenth."""
    for number in range(_HONEST):
        while seen.statuses.total() < MANY * number // _HONEST:  # noqa: ASYNC110 - now and then is enough
            await asyncio.sleep(_PAUSE_S)
        await _someone_new(ours, address=f"203.0.113.{number}")
        seen.honest += 1


async def _someone_new(ours: Child, *, address: str = "203.0.113.200") -> App:
    headers = {"x-forwarded-for": address}
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=30, headers=headers) as http,
        httpx2.AsyncClient(trust_env=False, timeout=30, headers=headers) as browser,
    ):
        app = await discover(http, f"{ours.url}/mcp", silently)
        await sign_in(app, browser, silently)
        return app


async def _ask_on(app: App, seen: Seen, *, until: float | None) -> None:
    """Ask and renew in turn, as a connected app."""
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as app.http:
        while until is None or time.perf_counter() < until:
            for renew in (False, True):
                began = time.perf_counter()
                if renew:
                    await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
                else:
                    await app.ask("health_check")
                seen.waits_s.append(time.perf_counter() - began)
            await asyncio.sleep(_PAUSE_S)


def _size_mb(data: Path, store: Redis | None) -> float:
    if store is not None:
        return store.used_bytes() / 2**20
    return sum(path.stat().st_size for path in data.iterdir() if "sqlite" in path.name) / 2**20


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
