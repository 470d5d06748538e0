"""A month of heart rate: windows side by side against following `next_token` one page after the other."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import anyio
import httpx2

from app.identity import Caller
from app.sources.base import Collection, DateRange
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.outgoing import outgoing
from app.sources.pages import Page
from app.sources.question import Terms
from app.sources.windows import Window
from bench.connector import slow_oura
from bench.figures import Figure, at_least, at_most, said
from bench.slow_oura import LATENCY_S

MONTH = DateRange(date(2026, 10, 1), date(2026, 10, 31), ZoneInfo("Europe/Berlin"))
CALLER = Caller("bench", "bench", "bench", frozenset())


@dataclass
class Counting:
    """The client, with a count of what it is asked and how deep requests depend on one another."""

    client: OuraClient
    pages: int = 0
    at_once: int = 0
    most_at_once: int = 0
    depth: dict[tuple[str, str | None], int] = field(default_factory=dict)  # by window and cursor

    def question(
        self, collection: Collection, window: Window | None, *, fields: tuple[str, ...], latest: bool
    ) -> Mapping[str, str]:
        """Pass on."""
        return self.client.question(collection, window, fields=fields, latest=latest)

    async def page(
        self, caller: Caller, collection: Collection, params: Mapping[str, str], *, next_token: str | None = None
    ) -> Page:
        """Pass on, and count."""
        window = params.get("start_datetime", "")
        self.pages += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        page = await self.client.page(caller, collection, params, next_token=next_token)
        self.at_once -= 1
        self.depth[window, page.next_token] = self.depth.get((window, next_token), 0) + 1
        return page

    @property
    def chain(self) -> int:
        """The most requests of which each needed the answer of the one before."""
        return max(self.depth.values(), default=0)


class OneToken:
    """The token of one sign-in."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def access_token(self, _caller: Caller, *, refused: str | None = None) -> str:
        """Return it."""
        if refused is not None:
            raise RuntimeError("the simulated Oura refused the token")
        return self._token


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    """Measure both ways in turn."""
    with slow_oura(folder, latency_s=LATENCY_S) as oura:
        yield from anyio.run(_measure, oura.url, rounds)


async def _measure(url: str, rounds: int) -> list[Figure]:
    speedups, chains, requests = [], [], []
    async with outgoing() as http:
        token = (await http.get(f"{url}/_bench/token")).json()["access_token"]
        for warming in (page_by_page, side_by_side):  # the simulated Oura makes its pages before the clock runs
            await warming(_counting(http, url, token))
        for _round in range(rounds):
            slow, fast = _counting(http, url, token), _counting(http, url, token)
            slow_s = await _timed(page_by_page, slow)
            fast_s = await _timed(side_by_side, fast)
            single_s = slow_s / slow.pages
            speedups.append(slow_s / fast_s)
            chains.append(fast_s / (fast.chain * single_s))
            requests.append(fast.pages / slow.pages)
    rounds_least = -(-slow.pages // 8)
    return [
        at_least(
            "month of heart rate, faster than page by page",
            median(speedups),
            8,
            f"{slow.pages} pages {slow_s:.2f} s, side by side {fast_s:.2f} s, {min(speedups):.2f} to "
            f"{max(speedups):.2f}; {slow.pages} pages, eight at once, are {rounds_least} rounds: "
            f"{slow.pages / rounds_least:.1f} is the most there can be",
        ),
        at_most("month of heart rate, time per longest chain", median(chains), 1.3, f"chain of {fast.chain}"),
        at_most("month of heart rate, requests per page", median(requests), 1.25, f"{fast.pages} requests"),
        at_most("month of heart rate, requests at once", fast.most_at_once, 8, "most seen", unit=""),
        said("month of heart rate, one page", single_s * 1000, f"{LATENCY_S * 1000:.0f} ms of it waiting", unit="ms"),
    ]


def _counting(http: httpx2.AsyncClient, url: str, token: str) -> Counting:
    return Counting(OuraClient(http=http, api_url=url, tokens=OneToken(token)))


async def _timed(ask: Callable[[Counting], Awaitable[int]], pages: Counting) -> float:
    began = time.perf_counter()
    if await ask(pages) == 0:
        raise RuntimeError("nothing came")
    return time.perf_counter() - began


async def side_by_side(pages: Counting) -> int:
    """Ask as the connector does."""
    return len((await Engine(Terms(pages)).fetch(CALLER, COLLECTIONS["heartrate"], MONTH)).records)


async def page_by_page(pages: Counting) -> int:
    """Ask the same days in the fewest windows, one request after the other."""
    terms = Terms(pages, parallel=1)
    uncut = replace(COLLECTIONS["heartrate"], stride_days=None)
    return len((await Engine(terms).fetch(CALLER, uncut, MONTH)).records)
