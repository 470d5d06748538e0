"""An Oura whose data routes hold exactly what a case puts there; signing in and tokens stay the simulator's.

Harder than Oura wherever Oura was not measured: a record is given only to a range that reaches past it on both sides.
"""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from app.simulator import Simulator

_ROOT = "/v2/usercollection/"
_DAY = timedelta(days=1)
_MONTH = timedelta(days=30)
Record = dict[str, Any]


@dataclass
class Shelf:
    """See the module.

    Attributes:
        records: By collection; a collection that is not here is the simulator's.
        pages: Records on a page of samples.
        answers: By collection: status, media type and body to send instead.
        asked: Collection and query of each request, in order.
        raw: Each query string as it travelled.
    """

    inner: ASGIApp
    records: dict[str, list[Record]] = field(default_factory=dict)
    pages: int = 1_000
    cycle: bool = False  # the cursor of the second page leads to the second page
    answers: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        name = path.removeprefix(_ROOT)
        if not path.startswith(_ROOT) or (name not in self.records and name not in self.answers):
            await self.inner(scope, receive, send)
            return
        self.raw.append(scope["query_string"].decode())
        query = dict(parse_qsl(self.raw[-1]))
        self.asked.append((name, query))
        status, kind, body = self.answers.get(name) or self._answer(name, query)
        headers = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, name: str, query: dict[str, str]) -> tuple[int, str, bytes]:
        records, more = self.records[name], None
        if "start_date" in query:
            asked = date.fromisoformat(query["start_date"]), date.fromisoformat(query["end_date"])
            records = [record for record in records if asked[0] < day_of(record) < asked[1]]
        elif "start_datetime" in query:
            start, end = (datetime.fromisoformat(query[f"{side}_datetime"]) for side in ("start", "end"))
            if end - start > _MONTH:
                return _json(400, {"detail": "The date range must not exceed 30 days."})
            records = [r for r in records if start <= datetime.fromisoformat(r["timestamp"]) < end]
            at = int(query.get("next_token", "0"))
            more = str(at if self.cycle and at else at + self.pages) if at + self.pages < len(records) else None
            records = records[at : at + self.pages]
        return _json(200, {"data": records, "next_token": more})


def day_of(record: Record) -> date:
    """Return a document's own day."""
    return date.fromisoformat(record.get("day") or record["start_day"])


def shelf(simulator: Simulator, **records: list[Record]) -> Shelf:
    """Put a shelf in front of a simulator; to be done before the connector is started on it."""
    simulator.app = made = Shelf(simulator.app, dict(records))
    return made


def _json(status: int, body: object) -> tuple[int, str, bytes]:
    return status, "application/json", orjson.dumps(body)
