"""What one `health_query` asks of the source: the range, or the range in blocks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import anyio

from app.errors import SourceBusy, SourceError
from app.sources.base import Collection, DateRange, Digest, Fetched, Record
from app.tools.calling import Call
from app.tools.caveats.circumstances import Beside, beside
from app.tools.dates.spans import Span
from app.tools.progress import Together
from app.tools.query.answering import Question
from app.tools.query.fitting import LEAST_CHARS, row_chars
from app.tools.records.buckets import MINUTES, measured
from app.tools.records.gathering import Gather
from app.tools.records.placing import day_of, stamp
from app.tools.records.shaping import Shape

_DAY = timedelta(days=1)
BLOCK_DAYS = 4  # of raw samples: one answer holds few days of them, so a month is not fetched to give a day


@dataclass(frozen=True, slots=True)
class Found:
    """What a question brought."""

    fetched: Fetched
    rest_after: date | None  # the last day that was asked for, if the range goes on after it
    beside: Beside


async def asked(call: Call, question: Question, *, piecewise: bool = False) -> Found:
    """Ask for the records, and beside them for what bears on reading them.

    Args:
        call: Who asks.
        question: What.
        piecewise: Samples of one resolution were asked for, so no more of them are fetched than fit.
    """
    span = question.span
    days = DateRange(span.start, span.end, question.here.zone) if span else None
    circumstances: list[Beside] = []

    async def look_beside() -> None:
        circumstances.append(
            await beside(
                call.caller,
                question.source,
                question.collection,
                days,
                today=question.here.today,
                nights=question.here.nights,
            )
        )

    failure: Exception | None = None
    rest_after = None
    async with anyio.create_task_group() as group:
        group.start_soon(look_beside)
        try:
            if question.collection.dense and piecewise and span is not None:
                fetched, reached = await as_far_as_it_fits(call, question)
                rest_after = reached if reached < span.end else None
            else:
                fetched = await whole(call, question)
        except Exception as error:  # noqa: BLE001  # raised again below: out of the group it would come wrapped
            failure = error
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return Found(fetched, rest_after, circumstances[0])


async def whole(call: Call, question: Question) -> Fetched:
    """Fetch the range asked for; samples that go out in buckets are put together as they arrive."""
    span, zone = question.span, question.here.zone
    days = DateRange(span.start, span.end, zone) if span else None
    fields = question.shapes[0].at_source
    return await question.source.fetch(
        call.caller, question.collection, days, fields=fields, progress=call.progress, digest=_digest(question)
    )


def _digest(question: Question) -> Digest | None:
    span, shape = question.span, question.shapes[0]
    resolutions = tuple(shape.resolution for shape in question.shapes)
    if span is None or not question.collection.dense or resolutions == ("raw",):
        return None
    field = measured(question.collection, shape.fields).name
    most = question.cap // LEAST_CHARS
    return Gather(question.collection, field, question.here.zone, resolutions, most, span.since, span.until)


async def as_far_as_it_fits(call: Call, question: Question) -> tuple[Fetched, date]:
    """Fetch samples of one resolution block by block, until there are more than one answer can hold.

    Returns:
        What came, and the last day that it reaches to.
    """
    span, shape = question.span, question.shapes[0]
    if span is None:
        raise ValueError("samples are always asked for by days")
    told, digest = Together(call.progress), _digest(question)
    most, block_days = question.cap // row_chars(shape), _block_days(question.cap, shape)
    start, sofar = span.start, Fetched(records=(), pages=0, complete=True)
    while True:
        end = min(span.end, start + timedelta(days=block_days - 1))
        block = DateRange(start, end, question.here.zone)
        try:
            found = await question.source.fetch(
                call.caller, question.collection, block, fields=shape.at_source, progress=told.part(), digest=digest
            )
        except SourceError as error:
            if start == span.start:
                raise
            failure = f"{start} to {span.end} did not arrive: {error}"
            reached = start - timedelta(days=1)
            limited = sofar.rate_limited or (isinstance(error, SourceBusy) and error.status == 429)
            failures = (*sofar.failures, failure)
            return replace(sofar, complete=False, rate_limited=limited, failures=failures, whole_until=reached), reached
        sofar = _joined(sofar, found)
        if end == span.end or not found.complete or len(sofar.records) > most:
            return sofar, end
        start = end + timedelta(days=1)


def _block_days(cap: int, shape: Shape) -> int:
    """Return how many days to fetch at once: in buckets, as many as one answer holds where each has samples."""
    if shape.resolution == "raw":
        return BLOCK_DAYS
    a_day = 1 if shape.resolution == "day" else 24 * 60 // MINUTES[shape.resolution]
    return max(BLOCK_DAYS, math.ceil(cap / (a_day * row_chars(shape))) + 1)


def between(records: Sequence[Record], collection: Collection, span: Span | None) -> Sequence[Record]:
    """Keep the samples inside the instants asked for, both included."""
    if span is None or (span.since is None and span.until is None):
        return records
    kept = []
    for record in records:
        at = stamp(record, collection)
        if at and (span.since is None or at >= span.since) and (span.until is None or at <= span.until):
            kept.append(record)
    return kept


def whole_days(fetched: Fetched, records: Sequence[Record], question: Question) -> tuple[Sequence[Record], date | None]:
    """Keep the records of the days that arrived whole, so that whoever goes on from there gets each exactly once.

    Returns:
        The records, and the last whole day; None if everything arrived. Where not even the first day is whole, all
        that came and the day before it.
    """
    last, span = fetched.whole_until, question.span
    if fetched.complete or last is None or span is None:
        return records, None
    if last < span.start:
        return records, span.start - timedelta(days=1)
    collection, zone = question.collection, question.here.zone
    return [record for record in records if (day_of(record, collection, zone) or span.start) <= last], last


def _joined(one: Fetched, other: Fetched) -> Fetched:
    return Fetched(
        records=(*one.records, *other.records),
        pages=one.pages + other.pages,
        complete=one.complete and other.complete,
        trimmed=one.trimmed + other.trimmed,
        pagination_cycle=one.pagination_cycle or other.pagination_cycle,
        rate_limited=one.rate_limited or other.rate_limited,
        failures=(*one.failures, *other.failures),
        whole_until=one.whole_until or other.whole_until,
    )
