"""A year of heart rate per hour: how much memory the process takes for it, and how long its event loop stands still."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import httpx2

from app.demo.walk import App
from bench.connector import connected, slow_oura, vitals
from bench.figures import Figure, at_most, said
from bench.running import Child
from bench.slow_oura import LATENCY_S

YEAR = {"collection": "heartrate", "start": "2025-11-01", "end": "2026-10-31", "resolution": "hour", "format": "csv"}
WEEK = {**YEAR, "start": "2026-10-25"}


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    """Ask for a year several times, each on a process of its own, after a week that loads what is loaded late."""
    growths, lates, idles, times, samples = [], [], [], [], 0
    with slow_oura(folder, latency_s=LATENCY_S) as oura:
        for number in range(max(1, rounds // 2)):
            here = folder / str(number)
            here.mkdir()
            settings = {"ANSWER_MAX_CHARS": "500000"}  # or only as many days would be fetched as one answer can hold
            with vitals(here, oura.url, "-m", "bench.watched", **settings) as ours:
                seen = anyio.run(_measure, ours, connected(ours))
            growths.append(seen["grown_mb"])
            lates.append(seen["late_ms"])
            idles.append(seen["idle_ms"])
            times.append(seen["took_s"])
            samples = int(seen["samples"])
    yield at_most(
        "year of heart rate per hour, memory grown",
        median(growths),
        60,
        f"{samples:,} samples, {min(growths):.0f} to {max(growths):.0f}, at its highest",
        unit="MB",
    )
    yield at_most(
        "year of heart rate per hour, loop blocked at most",
        median(lates),
        50,
        f"{min(lates):.0f} to {max(lates):.0f}; idle before: {median(idles):.0f}",
        unit="ms",
    )
    yield said("year of heart rate per hour", median(times), "from question to answer", unit="s")


async def _measure(ours: Child, app: App) -> dict[str, float]:
    async with httpx2.AsyncClient(trust_env=False, timeout=300) as http:
        app.http = http
        await _ask(app, WEEK)
        await _since(http, ours)
        await anyio.sleep(3)
        before = await _since(http, ours)
        began = time.perf_counter()
        samples = await _ask(app, YEAR)
        took_s = time.perf_counter() - began
        after = await _since(http, ours)
        return {
            "grown_mb": after["rss_mb"] - before["rss_mb"],
            "late_ms": after["late_ms"],
            "idle_ms": before["late_ms"],
            "took_s": took_s,
            "samples": samples,
        }


async def _since(http: httpx2.AsyncClient, ours: Child) -> dict[str, float]:
    told: dict[str, float] = (await http.get(f"{ours.url}/_bench/since")).json()
    return told


async def _ask(app: App, question: dict[str, str]) -> int:
    result: Any = await app.call("tools/call", {"name": "health_query", "arguments": question})
    answer = result.get("structuredContent", {})
    if "failures" in answer or not (answer.get("complete") or answer.get("truncated")):
        raise RuntimeError(f"not a complete answer: {result['content'][0]['text'][:300]}")
    samples: int = answer["samples"]
    return samples
