"""A source that behaves, a server around it, and a way to call a tool as the transport does."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult

from app.identity import CALLER, READ_SCOPE, Caller
from app.sources.base import Collection, DateKind, DateRange, Digest, Fetched, Progress, Record
from app.sources.oura.catalog import COLLECTIONS
from app.sources.registry import Sources
from app.tools.records.placing import day_of, end_day_of
from app.tools.server import build_mcp

OWNER = Caller(owner="o1", grant="g1", client_id="app", scopes=frozenset({READ_SCOPE}))
NOW = datetime(2026, 3, 10, 17, 0, tzinfo=UTC)
ALL_SCOPES = frozenset({c.scope for c in COLLECTIONS.values() if c.scope})


@dataclass
class FakeSource:
    """Holds records by collection and gives those of the range, as the protocol promises."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    name: str = "oura"
    synthetic: bool = False
    zone: ZoneInfo | None = field(default_factory=lambda: ZoneInfo("UTC"))
    scopes: frozenset[str] | None = ALL_SCOPES
    pages: int = 1
    failing: dict[str, Exception] = field(default_factory=dict)
    arrival: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=lambda: {"credential": "oauth", "state": "live"})
    asked: list[tuple[str, DateRange | None, tuple[str, ...]]] = field(default_factory=list)

    @property
    def collections(self) -> Mapping[str, Collection]:
        return COLLECTIONS

    def end(self) -> None:
        """Nothing is under way here."""

    async def granted(self, caller: Caller) -> frozenset[str] | None:
        if "granted" in self.failing:
            raise self.failing["granted"]
        return self.scopes

    async def timezone(self, caller: Caller) -> ZoneInfo | None:
        return self.zone

    async def fetch(
        self,
        caller: Caller,
        collection: Collection,
        days: DateRange | None,
        *,
        fields: tuple[str, ...] = (),
        latest: bool = False,
        progress: Progress | None = None,
        digest: Digest | None = None,
        within_s: float | None = None,
    ) -> Fetched:
        self.asked.append((collection.name, days, fields))
        if collection.name in self.failing:
            raise self.failing[collection.name]
        for page in range(1, self.pages + 1):
            if progress is not None:
                await progress(page, self.pages, f"page {page}")
        kept = [record for record in self.records.get(collection.name, []) if _inside(record, collection, days)]
        if latest:
            kept = kept[-1:]
        if fields:
            kept = [{name: value for name, value in record.items() if name in fields} for record in kept]
        if digest is not None:
            gathering = digest.begin()
            gathering.add(kept)
            kept = list(gathering.records())
        return replace(Fetched(records=tuple(kept), pages=self.pages, complete=True), **self.arrival)

    async def health(self, caller: Caller) -> Mapping[str, object]:
        granted = {} if self.scopes is None else {"scopes_granted": sorted(self.scopes)}
        return {**granted, **self.facts}


def _inside(record: Record, collection: Collection, days: DateRange | None) -> bool:
    if days is None:
        return True
    day = day_of(record, collection, days.zone)
    if day is None:
        return True
    last = end_day_of(record, collection, day) if collection.date_kind is DateKind.SPAN else day
    return last >= days.start and day <= days.end


@dataclass
class Connector:
    """A server and its clock."""

    source: FakeSource
    cap: int = 100_000
    timezone: ZoneInfo | None = None
    now: datetime = NOW
    caller: Caller | None = OWNER
    chatgpt: bool = False
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)

    def server(self) -> MCPServer[Any]:
        return build_mcp(
            sources=Sources([self.source]),
            answer_max_chars=self.cap,
            timezone=self.timezone,
            now=self.now.timestamp,
            public_url="https://vitals.example",
            version="0.1.0",
            chatgpt_tools=self.chatgpt,
        )

    async def call(self, tool: str, **arguments: object) -> CallToolResult:
        async def report(done: float, total: float | None, words: str | None) -> None:
            self.progress.append((done, total, words))

        scope = {} if self.caller is None else {CALLER: self.caller}
        request = SimpleNamespace(request=SimpleNamespace(scope=scope), session=SimpleNamespace(report_progress=report))
        context = Context[Any, Any](request_context=cast(Any, request))
        result = await self.server().call_tool(tool, dict(arguments), context)
        assert isinstance(result, CallToolResult)
        return result

    async def ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool, insist on an answer, and on what holds for every answer."""
        result = await self.call(tool, **arguments)
        said = text_of(result)
        assert not result.is_error, said
        answer = json.loads(said)
        assert answer == result.structured_content
        assert len(said) <= self.cap
        assert '": "' not in said  # compact
        return cast("dict[str, Any]", answer)

    async def refused(self, tool: str, **arguments: object) -> str:
        """Call a tool and insist on a refusal; return its text."""
        result = await self.call(tool, **arguments)
        assert result.is_error, text_of(result)[:500]
        assert result.structured_content is None
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    assert len(result.content) == 1
    block = result.content[0]
    assert block.type == "text"
    return block.text


def heart(start: datetime, count: int, *, every_s: int = 300, bpm: Sequence[int | None] = (60, 62, 64)) -> list[Record]:
    """Samples as Oura sends them, in UTC."""
    return [
        {
            "timestamp": datetime.fromtimestamp(start.timestamp() + n * every_s, tz=UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "bpm": bpm[n % len(bpm)],
            "source": "awake",
        }
        for n in range(count)
    ]


def sleep(
    day: str, kind: str = "long_sleep", *, end: str | None = None, asleep_s: int | None = 25_000, **more: object
) -> Record:
    return {
        "id": f"{day}-{kind}-{end}",
        "day": day,
        "type": kind,
        "bedtime_start": f"{day}T00:10:00+00:00",
        "bedtime_end": end or f"{day}T07:05:00+00:00",
        "total_sleep_duration": asleep_s,
        "time_in_bed": 26_000,
        **more,
    }


SCORES: list[Record] = [
    {
        "id": f"s{day}",
        "day": f"2026-03-{day:02}",
        "score": 70 + day,
        "contributors": {"deep_sleep": 80, "efficiency": 97},
        "timestamp": f"2026-03-{day:02}T00:00:00+00:00",
    }
    for day in range(1, 11)
]


def scores() -> Connector:
    """A connector to ten days of sleep scores."""
    return Connector(FakeSource({"daily_sleep": SCORES}))
