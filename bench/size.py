"""How much of the raw JSON an answer is, in characters: what a model has to read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2

from app.demo.walk import App
from bench.connector import connected, slow_oura, vitals
from bench.figures import Figure, said
from bench.running import Child

MONTH = {"start": "2026-09-01", "end": "2026-09-30"}


def measure(folder: Path, _rounds: int) -> Iterator[Figure]:
    """Ask both questions once: characters do not vary."""
    with (
        slow_oura(folder, latency_s=0) as oura,
        vitals(folder, oura.url, ANSWER_MAX_CHARS="1000000") as ours,
    ):
        yield from anyio.run(_measure, oura, connected(ours))


async def _measure(oura: Child, app: App) -> list[Figure]:
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        app.http = http
        token = (await http.get(f"{oura.url}/_bench/token")).json()["access_token"]
        raw = await _raw(http, oura.url, token, "daily_activity", start_date="2026-09-01", end_date="2026-10-01")
        beats = await _raw(
            http,
            oura.url,
            token,
            "heartrate",
            start_datetime="2026-09-01T00:00:00+02:00",
            end_datetime="2026-10-01T00:00:00+02:00",
        )
        found = []
        for name, whole, question in (
            ("30 days of daily_activity at summary", raw, {"collection": "daily_activity", **MONTH}),
            ("same, as CSV", raw, {"collection": "daily_activity", "format": "csv", **MONTH}),
            ("month of heart rate per hour", beats, {"collection": "heartrate", "resolution": "hour", **MONTH}),
            (
                "same, as CSV",
                beats,
                {"collection": "heartrate", "resolution": "hour", "format": "csv", **MONTH},
            ),
        ):
            chars = await _chars(app, question)
            found.append(
                said(f"{name}, characters of the raw JSON", chars / whole, f"{chars:,} against {whole:,}", unit="")
            )
        return found


async def _chars(app: App, question: dict[str, str]) -> int:
    result: Any = await app.call("tools/call", {"name": "health_query", "arguments": question})
    if result.get("isError") or not result["structuredContent"]["complete"]:
        raise RuntimeError(f"not a complete answer: {result['content'][0]['text'][:300]}")
    return len(result["content"][0]["text"])


async def _raw(http: httpx2.AsyncClient, url: str, token: str, collection: str, **params: str) -> int:
    """Return the characters of all pages as Oura sends them."""
    chars, headers = 0, {"authorization": f"Bearer {token}"}
    while True:
        answer = await http.get(f"{url}/v2/usercollection/{collection}", params=params, headers=headers)
        answer.raise_for_status()
        chars += len(answer.text)
        cursor = answer.json()["next_token"]
        if cursor is None:
            return chars
        params["next_token"] = cursor
