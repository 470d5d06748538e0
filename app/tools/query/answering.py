"""The answer to one `health_query`: the records that came, whole or cut to size, with everything said about them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from app.errors import BadRequest
from app.sources.base import Collection, DateRange, Fetched, Record, Source
from app.tools.caveats.absence import CONCLUDE, empty, gaps, without_record
from app.tools.caveats.circumstances import OFF, Beside, days_there, told, unworn, without_score
from app.tools.caveats.evidence import NOT_WORN, RECENT, Evidence
from app.tools.caveats.partial import PARTIAL, partial
from app.tools.dates.owners import SLEEP
from app.tools.dates.spans import Span
from app.tools.dates.zones import Here
from app.tools.query.fitting import LEAST_CHARS, TooLarge, by_day, fit
from app.tools.records.buckets import RESOLUTIONS, finest
from app.tools.records.fields import known_names
from app.tools.records.nights import GOING_ON, night
from app.tools.records.placing import day_of, end_day_of
from app.tools.records.shaping import Shape
from app.tools.rendering import Answer, written

LARGE_CHARS = 40_000  # about 10,000 tokens: worth a word to the model


@dataclass(frozen=True, slots=True)
class Question:
    """One question, read and checked."""

    source: Source
    collection: Collection
    here: Here
    span: Span | None  # None: a collection without days, or the newest record
    shapes: tuple[Shape, ...]  # in the order of trying
    cap: int  # characters
    notes: tuple[str, ...]
    evidence: Evidence | None = None  # about the days without a record
    beside: Beside = field(default_factory=Beside)  # what was asked with it
    held_back: int = 0  # samples or records that arrived beyond a gap
    nightless: tuple[date, ...] = ()  # days with records of sleep, but without a night
    days_there: frozenset[date] | None = None  # days with a sample, worked out once for all ways of writing the answer


def fitted(
    question: Question, fetched: Fetched | None, records: Sequence[Record], *, rest_after: date | None = None
) -> Answer:
    """Deliver whole if it fits, else at the finest resolution that does, else cut after a whole day.

    Args:
        question: What was asked.
        fetched: How the records arrived; None if nothing was asked of the source.
        records: Those inside the range.
        rest_after: The last day up to which everything came, if the range goes on after it.

    Raises:
        BadRequest: A single day is over the limit; the text says what would make it fit.
    """
    if len(question.shapes) > 1:
        coarse = RESOLUTIONS.index(finest(records))
        for shape in question.shapes:
            too_fine = RESOLUTIONS.index(shape.resolution) < coarse
            if too_fine or (shape.resolution == "raw" and len(records) * LEAST_CHARS > question.cap):
                continue
            tried = answer(question, shape, fetched, records, cut=rest_after, note=_instead_of_raw(shape))
            if len(written(tried)) <= question.cap:
                return tried
    shape = question.shapes[-1]
    start = question.span.start if question.span else date.min
    try:
        return fit(
            by_day(
                records,
                day=lambda record: max(start, day_of(record, shape.collection, shape.zone) or start),
                last=lambda record, day: end_day_of(record, shape.collection, day),
            ),
            lambda chosen, cut: answer(question, shape, fetched, chosen, cut=_earlier(cut, rest_after)),
            cap=question.cap,
            rest_after=rest_after,
            least_chars=LEAST_CHARS if shape.resolution == "raw" else 0,
        )
    except TooLarge as large:
        raise BadRequest(_advice(question, large)) from None


def answer(
    question: Question,
    shape: Shape,
    fetched: Fetched | None,
    records: Sequence[Record],
    *,
    cut: date | None = None,
    note: str | None = None,
) -> Answer:
    """Write the answer.

    Args:
        question: What was asked.
        shape: How the records go out.
        fetched: How they arrived; None if nothing was asked of the source.
        records: Those to deliver.
        cut: The last day delivered whole, if not all are.
        note: One more thing to say.
    """
    collection, span = question.collection, question.span
    delivered = shape.deliver(records)
    n, data = delivered.pop("n"), delivered.pop("data")
    said: Answer = {
        "collection": collection.qualified,
        "start": (span.since or span.start).isoformat() if span else None,
        "end": (span.until or span.end).isoformat() if span else None,
        "timezone": question.here.zone.key,
        "filed_by": str(collection.date_kind),
        "n": n,
        "pages": fetched.pages if fetched else 0,
        "complete": (fetched is None or fetched.complete) and cut is None,
    }
    if question.source.synthetic:
        said["synthetic"] = True
    if cut is not None:
        said |= {"truncated": True, "continue_from": cut.isoformat()}
    if fetched is not None:
        said |= _arrival(fetched)
    said |= delivered
    if not records:
        said["empty"] = empty(collection, fetched, span=span, today=question.here.today, evidence=question.evidence)
    known, about = _circumstances(question, shape, records, cut)
    said |= known
    said["notes"] = [
        *_seam(question, fetched, records, cut),
        *([note] if note else ()),
        *question.notes,
        *_ignored(question, shape, records, delivered.get("ignored_fields")),
        *about,
        *collection.notes,
        *_recent(question, records),
    ]
    if (chars := len(written({**said, "data": data}))) > LARGE_CHARS:
        said["large_response"] = f"{chars} characters. Smaller with fewer days, or {', or '.join(_smaller(shape))}."
    said["data"] = data  # last: some hosts cut the end of what is long
    return said


def _arrival(fetched: Fetched) -> Answer:
    """Say how the records arrived, as far as it was not plainly."""
    said: Answer = {}
    if fetched.trimmed:
        said["trimmed"] = fetched.trimmed
    if fetched.pagination_cycle:
        said["pagination_cycle"] = True
    if fetched.rate_limited:
        said["rate_limited"] = True
    if fetched.failures:
        said["failures"] = list(fetched.failures)
    return said


def _circumstances(
    question: Question, shape: Shape, records: Sequence[Record], cut: date | None
) -> tuple[Answer, tuple[str, ...]]:
    """Return what bears on reading the days delivered, and notes about it."""
    collection, span = question.collection, question.span
    if span is None:
        return {}, ()
    last = span.end if cut is None else max(span.start, min(cut, span.end))
    days = DateRange(span.start, last, question.here.home)
    here = question.here
    known, notes = told(collection, records, question.beside, days, counted_by=here.zone, guessed=here.guessed)
    reached = span.end if cut is None else cut
    absent = missing(question, records, last=reached)
    nightless = [day for day in question.nightless if day <= reached]
    if question.evidence is not None and (absent or nightless):
        about, more = gaps(collection, absent, question.evidence, nightless=nightless)
        known |= about
        notes = (*notes, *more)
    if going_on := _going_on(question, records):
        known["in_progress"] = going_on
        notes = (GOING_ON, *notes)
    if off := unworn(records, collection):
        notes = (*notes, f"On {off} {OFF}")
    if scoreless := without_score(records, collection, today=question.here.today, asked=shape.fields):
        known["missing"] = {collection.value_field: scoreless}
        notes = (*notes, *(CONCLUDE[word] for word in scoreless if word != NOT_WORN))
    if unfinished := _unfinished(question, records, days):
        known["partial"] = unfinished
        notes = (PARTIAL, *notes)
    if question.held_back:
        known["held_back"] = question.held_back
    return known, tuple(dict.fromkeys(notes))


def _going_on(question: Question, records: Sequence[Record]) -> list[str]:
    """Return the days of the nights delivered that are not over."""
    if question.collection.name != SLEEP or question.source.synthetic:
        return []
    days = (day_of(one, question.collection, question.here.zone) for one in night(records).in_progress)
    return sorted({str(day) for day in days if day is not None})


def _unfinished(question: Question, records: Sequence[Record], days: DateRange) -> dict[str, str]:
    """Return the days delivered that are only partly there."""
    span, here = question.span, question.here
    if question.source.synthetic or span is None:
        return {}
    zone = here.zone if question.collection.dense else here.own  # like today itself, and what it is compared with
    return partial(
        question.collection,
        records,
        DateRange(days.start, days.end, zone),
        today=here.today,
        newest=question.beside.newest,
        until=span.until,
        nights=question.beside.nights or (),
    )


def _recent(question: Question, records: Sequence[Record]) -> tuple[str, ...]:
    """Return what is to be said only where the last few days are in question."""
    days = [day_of(record, question.collection, question.here.zone) for record in records]
    last = question.span.end if question.span else max((day for day in days if day), default=date.min)
    return question.collection.recent_notes if last >= question.here.today - RECENT else ()


def missing(question: Question, records: Sequence[Record], *, last: date) -> list[date]:
    """Return the days up to `last` that have no record although the collection has one every day."""
    there = question.days_there
    if question.span is None or question.source.synthetic:  # sample data is made up, and not day by day
        return []
    if there is None:
        there = days_there(records, question.collection, question.here.zone)
    return without_record(there, question.collection, question.span, last=last)


def _ignored(question: Question, shape: Shape, records: Sequence[Record], ignored: object) -> list[str]:
    """Say what became of fields that were asked for and do not exist here."""
    if not isinstance(ignored, list):
        return []
    said = "ignored_fields do not exist here, and nothing stands in for them; fields_meant, if any, has similar ones."
    if not shape.found(records):
        said += " No other was asked for, so the records have all their fields."
    others = question.source.collections.values()
    places = {name: [other.name for other in others if name in known_names(other)] for name in ignored}
    return [said, *(f"{name} is a field of {', '.join(found)}." for name, found in places.items() if found)]


def _earlier(one: date | None, other: date | None) -> date | None:
    return min(one, other) if one and other else one or other


def _seam(question: Question, fetched: Fetched | None, records: Sequence[Record], cut: date | None) -> list[str]:
    """Say how to go on after the last whole day."""
    if cut is None:
        return []
    then = f"start={cut + timedelta(days=1)}" + (f", end={question.span.end}" if question.span else "")
    if question.span is not None and cut < question.span.start:
        again = f"Ask again with {then}, and take that answer instead: what is here comes again."
        return [f"No day arrived whole. {again} If it comes back the same, it is the source's fault: stop and say so."]
    if fetched is not None and not fetched.complete and cut == fetched.whole_until:
        notes = [f"Everything up to {cut} arrived; what is later was held back. For it ask again with {then}."]
    else:
        notes = [f"Cut after {cut} to fit. For the rest ask again with {then}."]
    if any(end_day_of(record, question.collection, cut) > cut for record in records):
        notes.append("A record that runs on past the cut comes again in the next part, with the same id.")
    return notes


def _instead_of_raw(shape: Shape) -> str | None:
    if shape.resolution == "raw":
        return None
    return (
        f"Raw does not fit, so this is per {shape.resolution}. "
        "For raw samples ask for fewer days with resolution=raw and format=csv."
    )


def _advice(question: Question, large: TooLarge) -> str:
    what = f"{question.collection.qualified} for {large.day}" if large.day else question.collection.qualified
    ways = _smaller(question.shapes[-1])
    return (
        f"{what} alone is {large.chars} characters, over the limit of {question.cap} for one answer, and a day is "
        f"never cut in two. Use {', or '.join(ways)}."
    )


def _smaller(shape: Shape) -> list[str]:
    """Name what would make an answer smaller that is not in force already."""
    ways = [] if shape.format == "csv" else ["format=csv"]
    ways.append("fewer fields with fields")
    if shape.collection.dense:
        coarser = {"raw": "resolution=5min, hour or day", "5min": "resolution=hour or day", "hour": "resolution=day"}
        ways += [coarser[shape.resolution]] if shape.resolution in coarser else []
    elif shape.full:
        ways.append("detail=summary")
    return ways
