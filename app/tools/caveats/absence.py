"""What is not there: of each day without a record one word for what is known of it, and what not to conclude."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from app.sources.base import Collection, DateKind, Fetched
from app.tools.caveats.evidence import (
    BEFORE_RING,
    IN_FUTURE,
    INCOMPLETE,
    LACKS_IT,
    NO_NIGHT,
    NO_RECORD,
    NO_SCORE,
    NO_VALUE,
    NOT_COMPUTED,
    NOT_LOOKED_UP,
    NOT_OVER,
    NOT_READ,
    NOT_SYNCED,
    NOT_WORN,
    Evidence,
)
from app.tools.dates.spans import Span
from app.tools.rendering import Answer

_MOST_SENTENCES: Final = 5  # of evidence
_MOST_STRETCHES: Final = 50  # of days without a record, the newest
_DAY: Final = timedelta(days=1)

CONCLUDE: Final = {
    NOT_WORN: "Nothing was measured while the ring was off; that is not zero.",
    NOT_SYNCED: "The ring may have recorded it all the same: let the owner open the source's app, then ask again.",
    NOT_COMPUTED: "What is not computed yet may still come: ask again later.",
    NOT_OVER: "A night has no record before it is over, and nothing follows from that; the one before is yesterday's.",
    BEFORE_RING: "There was no ring yet, so nothing was measured; that says nothing about the owner.",
    LACKS_IT: "It cannot come from this ring; that says nothing about the owner.",
    IN_FUTURE: "Nothing follows from this.",
    NO_RECORD: "No record is not a measurement of nothing. Why there is none is not known: no sign was found that the "
    "ring was not worn or not synced.",
    NO_NIGHT: "no_long_sleep: that day has naps or rest, but no night, and why is not known.",
    NO_SCORE: "no_score: the day has a record, but its score is empty, and why is not known.",
    NO_VALUE: "no_value: the day has a record, but its value is empty, and why is not known.",
    NOT_READ: "It could not be read, so this says nothing about whether records exist. Ask again later.",
    INCOMPLETE: "Not everything could be read, so this says nothing about whether records exist. Ask again later.",
    NOT_LOOKED_UP: "not_looked_up: why there is no record was looked for on newer days only; ask for fewer days.",
}
OCCASIONAL: Final = "It comes only now and then, so a day without one is usual."
ENTERED: Final = "None is noted at the source, which is not proof that nothing happened."
_NO_NIGHTS: Final = (
    "The days under days_without_night have naps or rest alone: what they slept then is not how long the night was."
)
_WOULD_TELL: Final = {
    "heartrate": "whether the ring was synced",
    "daily_activity": "whether it was worn",
    "sleep": "whether there was a night",
    "ring_configuration": "which ring it was",
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
        return {"reasons": [NO_RECORD], "note": ENTERED}
    if span is None or evidence is None:
        return {"reasons": [NO_RECORD], "note": CONCLUDE[NO_RECORD]}
    days = [span.start + n * _DAY for n in range((span.end - span.start).days + 1)]
    words, sentences = explained(collection, days, evidence)
    said: Answer = {"reasons": list(words)}
    rest: list[str] = []
    if len(words) > 1:
        kept = {word: newest_stretches(found) for word, found in words.items()}
        said["days"] = {word: stretches(found) for word, (found, _) in kept.items()}
        if older := sum(left_out for _, left_out in kept.values()):
            rest = [f"days leaves out {older} older days."]
    if sentences:
        said["evidence"] = sentences
    usual = [OCCASIONAL] if collection.occasional and NO_RECORD in words else []
    said["note"] = " ".join((*usual, *(CONCLUDE[word] for word in words), *unread(collection, evidence), *rest))
    return said | looked(evidence)


def gaps(
    collection: Collection, days: Sequence[date], evidence: Evidence, *, nightless: Sequence[date] = ()
) -> tuple[Answer, tuple[str, ...]]:
    """Return what an answer with records says about the days that lack some, and notes about it.

    Args:
        collection: What was asked for.
        days: Those without a record.
        evidence: What was found out about all of them.
        nightless: Those with records of sleep, but without a night.
    """
    kept, older = newest_stretches(days)
    nights, older_nights = newest_stretches(nightless)
    words, sentences = explained(collection, sorted((*kept, *nights)), evidence)
    without = {word: [day for day in found if day not in nights] for word, found in words.items()}
    no_night: dict[str, list[date]] = {}
    for word, found in words.items():
        no_night.setdefault(NO_NIGHT if word == NO_RECORD else word, []).extend(day for day in found if day in nights)
    said: Answer = {}
    for name, by_word in (("days_without_record", without), ("days_without_night", no_night)):
        if told := {word: stretches(found) for word, found in by_word.items() if found}:
            said[name] = told
    if sentences:
        said["evidence"] = sentences
    notes = [_NO_NIGHTS] if nights else []
    notes += [CONCLUDE[word] for word in _in_force(without, no_night) if word != IN_FUTURE]
    if older:
        notes.append(f"{older} more days before {kept[0]} have no record; days_without_record leaves them out.")
    if older_nights:
        notes.append(f"{older_nights} more days before {nights[0]} have no night; days_without_night leaves them out.")
    return said | looked(evidence), (*notes, *unread(collection, evidence))


def _in_force(*found: Mapping[str, Sequence[date]]) -> list[str]:
    """Return the words that some day has."""
    return list(dict.fromkeys(word for by_word in found for word, days in by_word.items() if days))


def explained(
    collection: Collection, days: Sequence[date], evidence: Evidence
) -> tuple[dict[str, list[date]], list[str]]:
    """Return the days by the word for each, and a few sentences of evidence: each word's newest, then newer ones."""
    words: dict[str, list[date]] = {}
    seen: dict[str, str] = {}  # sentence: its word
    for day in days:
        word, why = evidence.why(collection, day)
        words.setdefault(word, []).append(day)
        if why is not None:
            seen.setdefault(why, word)
    newest = {word: why for why, word in seen.items()}
    chosen = list(dict.fromkeys([*newest.values(), *reversed(seen)]))[:_MOST_SENTENCES]
    return words, [why for why in seen if why in chosen]


def unread(collection: Collection, evidence: Evidence) -> list[str]:
    """Say which evidence could not be had, so that no word is taken to rest on it."""
    nightly = collection.date_kind is DateKind.WAKE_DAY
    names = [name for name in evidence.unread if name != "sleep" or (nightly and collection.name != "sleep")]
    told = ", ".join(f"{_WOULD_TELL[name]} ({name})" for name in names)
    return [f"Not known, since not permitted or not answered: {told}."] if told else []


def looked(evidence: Evidence) -> Answer:
    """Say what looking for reasons cost."""
    if not evidence.requests:
        return {}
    return {"looked_with": f"{evidence.requests} more request{'s' if evidence.requests > 1 else ''}"}


def without_record(there: frozenset[date], collection: Collection, span: Span, *, last: date) -> list[date]:
    """Return the days without a record, of a collection that has one every day.

    Args:
        there: Days with a record.
        collection: Their collection.
        span: The days asked for; one of which only some hours were asked for is never without.
        last: The last day that was read whole.
    """
    if collection.entered or collection.occasional or not there:
        return []
    first = span.start + _DAY if span.since else span.start
    last = min(last, span.end - _DAY if span.until else span.end)
    return [day for n in range((last - first).days + 1) if (day := first + n * _DAY) not in there]


def newest_stretches(days: Sequence[date]) -> tuple[Sequence[date], int]:
    """Return the newest days that are not too many stretches, and how many days are left out."""
    begun = 0
    for place in range(len(days) - 1, -1, -1):
        if place == len(days) - 1 or days[place] + _DAY != days[place + 1]:
            begun += 1
        if begun > _MOST_STRETCHES:
            return days[place + 1 :], place + 1
    return days, 0


def stretches(days: Iterable[date]) -> list[str]:
    """Write days, neighbours as one stretch: `2026-03-01 to 2026-03-04`."""
    found: list[tuple[date, date]] = []
    for day in sorted(days):
        if found and found[-1][1] + _DAY == day:
            found[-1] = (found[-1][0], day)
        else:
            found.append((day, day))
    return [str(first) if first == last else f"{first} to {last}" for first, last in found]
