"""What an answer without records says: one word for what is known of each day, and what not to conclude."""

from collections.abc import Iterable
from datetime import date, timedelta

from app.sources.base import Collection, DateKind, Fetched
from app.tools.dates import Span
from app.tools.evidence import (
    IN_FUTURE,
    LACKS_IT,
    MOST_DAYS,
    NO_RECORD,
    NO_SCORE,
    NOT_COMPUTED,
    NOT_SYNCED,
    NOT_WORN,
    Evidence,
)
from app.tools.rendering import Answer

INCOMPLETE = "incomplete"
_MOST_WORDS = 5  # sentences of evidence
_DAY = timedelta(days=1)

CONCLUDE = {
    NOT_WORN: "Nothing was measured while the ring was off; that is not zero.",
    NOT_SYNCED: "The ring may have recorded it all the same: let the owner open the source's app, then ask again.",
    NOT_COMPUTED: "What is not computed yet may still come: ask again later.",
    LACKS_IT: "It cannot come from this ring; that says nothing about the owner.",
    IN_FUTURE: "Nothing follows from this.",
    NO_RECORD: "No record is not a measurement of nothing. Why there is none is not known: no sign was found that the "
    "ring was not worn or not synced. Nights and scores come only after the owner opens the source's app.",
    NO_SCORE: "no_score: the day has a record, but its score is empty, and why is not known.",
    INCOMPLETE: "Not everything could be read, so this says nothing about whether records exist. Ask again later.",
}


def empty(
    collection: Collection, fetched: Fetched | None, *, span: Span | None, today: date, evidence: Evidence | None
) -> Answer:
    """Return the value of `empty`.

    Args:
        collection: What was asked for.
        fetched: What came; None when nothing was asked because the range lies ahead.
        span: The days asked for.
        today: The owner's day.
        evidence: What was found out about them; None if nothing was looked into.
    """
    if span is not None and span.start > today:
        ahead = f"{span.start} lies ahead: today is {today}. {CONCLUDE[IN_FUTURE]}"
        return {"reasons": [IN_FUTURE], "note": ahead}
    if fetched is not None and not fetched.complete:
        return {"reasons": [INCOMPLETE], "note": CONCLUDE[INCOMPLETE]}
    if collection.date_kind is DateKind.UNDATED:
        return {"reasons": [NO_RECORD], "note": "The source holds no such record."}
    if collection.entered:
        note = "The owner entered none for these days, and none was detected; that does not say there was none."
        return {"reasons": [NO_RECORD], "note": note}
    if span is None or evidence is None:
        return {"reasons": [NO_RECORD], "note": CONCLUDE[NO_RECORD]}
    return _by_evidence(collection, span, evidence)


def _by_evidence(collection: Collection, span: Span, evidence: Evidence) -> Answer:
    first = max(span.start, min(span.end, evidence.here.today) - (MOST_DAYS - 1) * _DAY)
    days: dict[str, list[date]] = {}
    words: list[str] = []
    for n in range((span.end - first).days + 1):
        word, why = evidence.why(collection, first + n * _DAY)
        days.setdefault(word, []).append(first + n * _DAY)
        if why is not None and why not in words:
            words.append(why)
    said: Answer = {"reasons": list(days)}
    if len(days) > 1:
        said["days"] = {word: stretches(found) for word, found in days.items()}
    if words:
        said["evidence"] = words[-_MOST_WORDS:]  # the newest
    notes = [CONCLUDE[word] for word in days]
    if first > span.start:
        notes.append(f"Reasons were looked for from {first} on only.")
    said["note"] = " ".join(notes)
    if evidence.requests:
        said["looked_with"] = f"{evidence.requests} more requests"
    return said


def stretches(days: Iterable[date]) -> list[str]:
    """Write days, neighbours as one stretch: `2026-03-01 to 2026-03-04`."""
    found: list[tuple[date, date]] = []
    for day in sorted(days):
        if found and found[-1][1] + _DAY == day:
            found[-1] = (found[-1][0], day)
        else:
            found.append((day, day))
    return [str(first) if first == last else f"{first} to {last}" for first, last in found]
