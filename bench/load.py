"""A crowd on two processes and one Redis while Oura fails, tokens end and apps come and go: is every answer right?

`python -m bench load` runs for a minute, `python -m bench soak` for ten.
"""

import asyncio
import secrets
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import uvloop

from app.demo.walk import discover, sign_in
from app.simulator import STRANGER, Person
from bench.connector import vitals
from bench.crowd import Question, Tally, sign_in_all
from bench.figures import Figure, at_most, said
from bench.redis import redis
from bench.running import Child, child, free_port, silently

CLIENTS = 200
LOAD_S, SOAK_S = 60.0, 600.0
FAULT_EVERY_S = 3.0
# Of all that a client does, in a minute: so that in ten minutes, too, less than 500 sign-ins are begun, from which on
# each address has two (`authserver/limits/allowances`). Those who are refused then would ask without a token for ever.
LEAVING_PER_MINUTE = 0.01
GROWTH_MB = 5.0  # over the second half, per process: what an allocator may still settle
QUESTIONS: tuple[Question, ...] = tuple(
    ("health_query", {"collection": "daily_activity", "start": str(day), "end": str(day + timedelta(days=1))})
    for day in (date(2025, 6, 1) + timedelta(days=3 * number) for number in range(100))
)
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "status", "path": "/v2/*", "status": 503, "times": 6},
    {"kind": "html", "path": "/v2/*", "status": 502, "times": 4},
    {"kind": "cut", "path": "/v2/*", "times": 4},
    {"kind": "latency", "path": "/v2/*", "seconds": 0.5, "times": 20},
    {"kind": "truncate", "path": "/v2/*", "times": 2},
    {"kind": "status", "path": "/v2/*", "status": 429, "seconds": 1, "times": 1},
    {"kind": "latency", "path": "/oauth/token", "seconds": 0.5, "times": 2},
)


def measure(folder: Path, _rounds: int) -> Iterator[Figure]:
    """Load for a minute."""
    return _measure(folder, LOAD_S)


def soak(folder: Path, _rounds: int) -> Iterator[Figure]:
    """Load for ten minutes."""
    return _measure(folder, SOAK_S)


def _measure(folder: Path, seconds: float) -> Iterator[Figure]:
    port, other = free_port(), free_port()
    with (
        redis(folder) as store,
        child("-m", "bench.faulty_oura", str(port), port=port, env={}, folder=folder) as oura,
    ):
        port = free_port()
        more = {
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "REDIS_URL": store.url,
            "SECRET_KEY": secrets.token_urlsafe(32),
            "OURA_OWNER_EMAIL": f"{Person.traveller().email},{STRANGER.email}",
        }
        with (
            vitals(folder, oura.url, PORT=str(port), **more) as one,
            vitals(folder, oura.url, PORT=str(other), **more) as two,
        ):
            tally, memory = uvloop.run(_crowd(oura, (one, two), seconds))
            log = (folder / f"{port}.log").read_text() + (folder / f"{other}.log").read_text()
    yield from _figures(tally, memory, seconds, log)


async def _crowd(oura: Child, processes: Sequence[Child], seconds: float) -> tuple[Tally, list[list[float]]]:
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        app = await discover(http, f"{processes[0].url}/mcp", silently)
        expected = {}
        for who in ("owner", "stranger"):
            await sign_in(app, http, silently, who=who)
            http.cookies.clear()
            for number, (tool, arguments) in enumerate(QUESTIONS):
                expected[who, number] = (await app.ask(tool, **arguments))["data"]
        _tell_apart(expected)
        ports = [process.port for process in processes]
        leaving = LEAVING_PER_MINUTE * 60 / seconds
        clients = await sign_in_all(
            app, clients=CLIENTS, questions=QUESTIONS, expected=expected, ports=ports, leaving=leaving
        )
        tally = Tally()
        memory: list[list[float]] = []
        until = time.perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            for each in clients:
                group.create_task(each.run(tally, until))
            group.create_task(_trouble(http, oura, until))
            group.create_task(_watch(processes, memory, until))
        for each in clients:
            await each.app.http.aclose()
        return tally, memory


def _tell_apart(expected: dict[tuple[str, int], list[Any]]) -> None:
    """Make sure that a crossed answer would be seen.

    Raises:
        RuntimeError: Two questions or two owners have equal answers.
    """
    texts = {str(records) for records in expected.values()}
    if len(texts) != len(expected):
        raise RuntimeError("two clients' answers are equal, so a mix-up would not be seen")


async def _trouble(http: httpx2.AsyncClient, oura: Child, until: float) -> None:
    """Let Oura fail in turn, and its access tokens end."""
    number = 0
    while time.perf_counter() + FAULT_EVERY_S < until:
        await asyncio.sleep(FAULT_EVERY_S)
        await http.post(f"{oura.url}/_sim/faults", json=FAULTS[number % len(FAULTS)])
        number += 1
        if number % 3 == 0:
            await http.post(f"{oura.url}/_sim/expire")


async def _watch(processes: Sequence[Child], memory: list[list[float]], until: float) -> None:
    while time.perf_counter() < until:
        memory.append([process.rss_mb() for process in processes])
        await asyncio.sleep(1)


def _figures(tally: Tally, memory: list[list[float]], seconds: float, log: str) -> Iterator[Figure]:
    ours = sum(n for outcome, n in tally.outcomes.items() if outcome.split(": ")[-1].startswith(("HTTP 5", "50")))
    named = {"answered", "checked", "partial", "named error", "refreshed", "revoked", "signed in again"}
    named |= {"sign-in told that Oura failed"}
    odd = {outcome: n for outcome, n in tally.outcomes.items() if outcome not in named}
    told = ", ".join(f"{n} {outcome}" for outcome, n in tally.outcomes.most_common())
    yield at_most(f"crowd of {CLIENTS} for {seconds:.0f} s, answers 5xx of ours", ours, 0, told, "")
    yield at_most("…, crossed answers", tally.outcomes["crossed"], 0, f"of {tally.outcomes['answered']} compared", "")
    yield at_most("…, other answers that should not be", sum(odd.values()), 0, str(odd or "none"), "")
    yield at_most("…, stack traces in the logs", log.count("Traceback"), 0, f"{log.count(chr(10))} lines", "")
    rate = f"{len(tally.took_s) / seconds:.0f} calls/s, median {tally.share(0.5) * 1000:.0f} ms"
    yield said("…, p99 of a tool call", tally.share(0.99) * 1000, rate, "ms")
    later = memory[len(memory) // 2 :]
    eighth = max(1, len(later) // 4)
    growth = [
        median(row[which] for row in later[-eighth:]) - median(row[which] for row in later[:eighth])
        for which in range(len(later[0]))
    ]
    yield at_most("…, memory gained over the second half", max(growth), GROWTH_MB, f"at the end {later[-1]} MB", "MB")
    for words, n in tally.notes.most_common(6):
        yield said("…, named error", n, words, "")
