"""Past one process: two on one Redis against one, what a call asks of Redis, and what is kept in it."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import anyio
import httpx2

from app.demo.walk import App, discover, sign_in
from bench.connector import connected, vitals
from bench.figures import Figure, at_least, at_most, said
from bench.rate import ERAS, call, requests_per_s
from bench.redis import Redis, redis
from bench.running import Child, child, free_port, silently

SECONDS, CONNECTIONS = 3.0, 32
GRANTS, CALLS = 60, 200


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    """Measure on one Redis, in turn."""
    with ExitStack() as held:
        store = held.enter_context(redis(folder))
        port = free_port()
        oura = held.enter_context(child("-m", "bench.faulty_oura", str(port), port=port, env={}, folder=folder))
        ports = free_port(), free_port()
        more = {
            "PUBLIC_URL": f"http://127.0.0.1:{ports[0]}",
            "REDIS_URL": store.url,
            "SECRET_KEY": secrets.token_urlsafe(32),
        }
        one, two = (held.enter_context(vitals(folder, oura.url, PORT=str(each), **more)) for each in ports)
        app = connected(one)
        yield from _rates((one, two), app, rounds)
        yield from anyio.run(_requests, store, oura, app)
        yield from anyio.run(_size, store, one)


def _rates(processes: Sequence[Child], app: App, rounds: int) -> Iterator[Figure]:
    """Compare one process with two, both behind one name, by calls that ask nothing of Oura."""
    request = _wire(app, "health_check")
    ratios, rates, costs = [], [], []
    for _round in range(rounds):
        alone, alone_s = _rate(processes[:1], request)
        both, both_s = _rate(processes, request)
        ratios.append(both / alone)
        rates.append((alone, both))
        costs.append((alone_s / alone, both_s / both))
    (alone, both), (alone_s, both_s) = ([median(each) for each in zip(*seen, strict=True)] for seen in (rates, costs))
    details = f"{both:.0f} against {alone:.0f} calls/s, {min(ratios):.2f} to {max(ratios):.2f}, {rounds} rounds"
    yield at_least("two processes on one Redis, calls/s of one", median(ratios), 1.7, details)
    details = f"{both_s * 1000:.2f} against {alone_s * 1000:.2f} ms of processor time a call"
    yield at_least("…, as processor time says for processors of their own", 2 * alone_s / both_s, 1.7, details)


def _rate(processes: Sequence[Child], request: bytes) -> tuple[float, float]:
    """Return calls a second, and the processor time that the processes used in a second."""
    before = sum(process.cpu_s() for process in processes)
    ports = [process.port for process in processes]
    rate = requests_per_s(*ports, request=request, seconds=SECONDS, connections=CONNECTIONS)
    return rate, (sum(process.cpu_s() for process in processes) - before) / SECONDS


async def _requests(store: Redis, oura: Child, app: App) -> list[Figure]:
    """Count what Redis is asked for a call, and for one that finds Oura's token at its end."""
    found = []
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        app.http = http
        query = {"collection": "daily_activity", "start": "2026-03-01", "end": "2026-03-02"}
        asked_for: tuple[tuple[str, dict[str, str]], ...] = (("health_check", {}), ("health_query", query))
        for tool, arguments in asked_for:
            await app.ask(tool, **arguments)
            before = store.commands()
            for _ in range(CALLS):
                await app.ask(tool, **arguments)
            asked = _since(before, store.commands())
            details = ", ".join(f"{n / CALLS:.2f} {name}" for name, n in asked.items() if n * 100 > CALLS)
            each = round(sum(asked.values()) / CALLS, 1)  # once a second one more, for the zone and the scopes
            found.append(at_most(f"requests to Redis for a {tool}", each, 2, details, ""))
        await http.post(f"{oura.url}/_sim/expire")
        before = store.commands()
        await app.ask("health_query", **query)
        asked = _since(before, store.commands())
        details = ", ".join(f"{n} {name}" for name, n in asked.items())
        found.append(said("requests to Redis for a question with a renewal in it", sum(asked.values()), details, ""))
    return found


def _since(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    counted = {name: calls - before.get(name, 0) for name, calls in after.items()}
    return {name: n for name, n in counted.items() if n}


async def _size(store: Redis, process: Child) -> list[Figure]:
    """Measure what an owner, one more app with a sign-in of its own, and a refresh take in Redis."""
    owner = sum(store.bytes_of(f"vitals:record:{kind}:*") for kind in ("conn", "pin", "intent"))
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        app = await discover(http, f"{process.url}/mcp", silently)
        await sign_in(app, http, silently)
        before = store.used_bytes()
        for _ in range(GRANTS):
            http.cookies.clear()
            await sign_in(app, http, silently)
        app_bytes = (store.used_bytes() - before) / GRANTS
        before = store.used_bytes()
        for _ in range(GRANTS):
            await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
        refresh_bytes = (store.used_bytes() - before) / GRANTS
    return [
        said("kept in Redis for an owner", owner / 1024, "connection, pin and intent", "kB"),
        said("kept in Redis for one more sign-in of an app", app_bytes / 1024, f"mean of {GRANTS}", "kB"),
        said("kept in Redis for one more refresh", refresh_bytes / 1024, f"mean of {GRANTS}", "kB"),
    ]


def _wire(app: App, tool: str) -> bytes:
    host = httpx2.URL(app.mcp_url).netloc.decode()
    return call(host, era=ERAS[0], tool=tool, token=app.access_token)
