"""The parts of a day as `health_today` gives them: the night, the readiness, the sleep score.

Each is given as it was recorded, or has one word for why it is not there. What two records both say is given once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from app.errors import VitalsError
from app.sources.base import Collection, Fetched, Kind, Record
from app.tools.caveats.evidence import INCOMPLETE, NO_NIGHT, NO_RECORD, Evidence, refused, unscored
from app.tools.records.fields import goes_with
from app.tools.records.nights import Night, night, nightless
from app.tools.records.provenance import by_group, merged
from app.tools.records.shaping import Shape
from app.tools.rendering import Answer

NIGHT, READINESS, SLEEP_SCORE = "last_night", "readiness", "sleep_score"
SLEEP = "sleep"  # what a night is called on any other day, and in `units`

_MARKS = ("unknown_fields", "unknown_values", "free_text", "series_left_out")
_UTC = ZoneInfo("UTC")  # records that are not samples need no zone


@dataclass(frozen=True, slots=True)
class Part:
    """What one collection brought, by day."""

    name: str
    collection: Collection
    records: Mapping[date, Sequence[Record]]
    older: Mapping[date, Sequence[Record]]  # looked at for their age alone
    fetched: Fetched | None
    failure: VitalsError | None = None
    age_failure: VitalsError | None = None  # the look for older records alone
    stamps: Sequence[datetime] = ()  # instants with the offsets they were recorded with

    def missing(self, days: Sequence[date]) -> list[date]:
        """Return the days without a record, or with naps or rest but no night, where nothing else explains it."""
        readable = self.failure is None and self.fetched is not None and self.fetched.complete
        return [day for day in days if readable and (not self.records.get(day) or self.only_naps(day))]

    def only_naps(self, day: date) -> bool:
        """Say whether a day has records of sleep, of which none is a night or will be one."""
        return self.name == NIGHT and nightless(self.records.get(day, ()))

    def newest(self, today: date) -> date | None:
        """Return the newest day up to today with a record; of nights, with one that is over."""
        return max(
            (
                day
                for day, found in (*self.older.items(), *self.records.items())
                if day <= today and (self.name != NIGHT or night(found).main is not None)
            ),
            default=None,
        )

    def there(self, day: date) -> bool:
        """Say whether a day has what this part is about: a main sleep, or a score."""
        records = self.records.get(day, ())
        if self.name == NIGHT:
            return night(records).main is not None
        return any(record.get("score") is not None for record in records)


class Writer:
    """Writes the parts of days, gathering units and notes on the way."""

    def __init__(self, parts: Mapping[str, Part], evidence: Evidence) -> None:
        self._parts = parts
        self._evidence = evidence
        self._today = evidence.here.today
        self.seen: list[str] = []  # evidence in words, the newest last
        self.words: list[str] = []  # for what is missing, each once, where evidence was looked for
        self.marks: Answer = {}  # unknown fields and values, free text, series left out: by part
        self.units: dict[str, object] = {}
        self.notes: list[str] = [
            f"{part.name} ({part.collection.qualified}): {part.failure}"
            for part in parts.values()
            if part.failure is not None
        ]
        self.notes += [
            f"How old the newest {plain_name(part.name)} is could not be read: {part.age_failure}"
            for part in parts.values()
            if part.age_failure is not None
        ]

    def today(self) -> Answer:
        """Return the parts of today, and under `missing` a word for each that is not there."""
        found = {name: self._part(part, self._today) for name, part in self._parts.items()}
        said: Answer = {name: value for name, value in found.items() if value is not None}
        if isinstance(last := said.get(NIGHT), dict):
            said[NIGHT] = {"wake_day": self._today.isoformat(), **last}
        if absent := self._missing(self._today):
            said["missing"] = absent
        return said

    def day(self, day: date) -> Answer:
        """Return the same for one of the days before, whose night is not called last night."""
        row: Answer = {"day": day.isoformat()}
        for name, part in self._parts.items():
            if (value := self._part(part, day)) is not None:
                row[plain_name(name)] = value
        if absent := self._missing(day):
            row["missing"] = {plain_name(name): word for name, word in absent.items()}
        return row

    def _missing(self, day: date) -> dict[str, str]:
        return {name: self._why(part, day) for name, part in self._parts.items() if not part.there(day)}

    def _why(self, part: Part, day: date) -> str:
        """Return one word for why a part is not there."""
        if part.failure is not None:
            return refused(part.failure)
        if part.fetched and not part.fetched.complete:
            return INCOMPLETE
        records = part.records.get(day, ())
        if part.name == NIGHT:
            if night(records).in_progress:
                return "in_progress"
            return self._looked_up(part, day, NO_NIGHT if records else NO_RECORD)
        if not records:
            return self._looked_up(part, day)
        return self._told(unscored(records[-1], day, self._today))

    def _looked_up(self, part: Part, day: date, unknown: str = NO_RECORD) -> str:
        """Return the word that evidence has, or the one for not knowing."""
        word, words = self._evidence.why(part.collection, day)
        if words is not None and words not in self.seen:
            self.seen.append(words)
        return self._told(unknown if word == NO_RECORD else word)

    def _told(self, word: str) -> str:
        if word not in self.words:
            self.words.append(word)
        return word

    def _part(self, part: Part, day: date) -> Answer | Record | None:
        records = part.records.get(day, ())
        if not records:
            return None
        if part.name != NIGHT:
            return self._plain(part, records)[-1]
        return self._night(part, night(records), self._parts[READINESS].records.get(day, ())) or None

    def _night(self, part: Part, sorted_out: Night, readiness: Sequence[Record]) -> Answer:
        said: Answer = {}
        if sorted_out.main is not None:
            said["main"] = self._plain(part, [_once(sorted_out.main, readiness)])[0]
        if sorted_out.other_long:
            said["other_long_sleep"] = self._plain(part, [_once(one, readiness) for one in sorted_out.other_long])
        if sorted_out.naps:
            said["naps"] = self._plain(part, [_once(record, readiness) for record in sorted_out.naps])
        if sorted_out.asleep_s is not None:
            said["all_sleep_of_day"] = sorted_out.asleep_s
            self.units["all_sleep_of_day"] = {"unit": "s", "kind": "measurement"}
        if sorted_out.not_counted:
            said["not_counted"] = [
                {name: record.get(name) for name in ("type", "bedtime_start", "bedtime_end")}
                for record in sorted_out.not_counted
            ]
        return said

    def _plain(self, part: Part, records: Sequence[Record]) -> list[Record]:
        delivered = Shape(part.collection, _UTC).deliver(records)
        units = delivered["units"]
        if isinstance(units, dict):
            dropped = _bookkeeping(part.collection)
            kept = {name: unit for name, unit in units.items() if name not in dropped}
            self.units |= merged(by_group(kept), plain_name(part.name))
        for name in _MARKS:
            if name in delivered:
                self._mark(name, plain_name(part.name), delivered[name])
        data = delivered["data"]
        return [_plainly(record, part.collection) for record in data] if isinstance(data, list) else []

    def _mark(self, name: str, part: str, found: object) -> None:
        """Keep what a part's records must be marked with, under the part's name."""
        if isinstance(found, dict):
            held = self.marks.setdefault(name, {})
            if isinstance(held, dict):
                for field, value in found.items():
                    held[f"{part}.{field}"] = _added(held.get(f"{part}.{field}"), value)
        elif isinstance(found, list):
            listed = self.marks.setdefault(name, [])
            if isinstance(listed, list):
                listed += [full for field in found if (full := f"{part}.{field}") not in listed]


def _added(before: object, more: object) -> object:
    """Add counts, and lists without what is in them already."""
    if isinstance(before, int) and isinstance(more, int):
        return before + more
    if isinstance(before, list) and isinstance(more, list):
        return [*before, *(one for one in more if one not in before)]
    return more


def _plainly(record: Record, collection: Collection) -> Record:
    """Leave out what says nothing about the owner: ids, and the day and stamp of a record that stands under its day."""
    dropped = _bookkeeping(collection)
    return {name: value for name, value in record.items() if name not in dropped}


def _bookkeeping(collection: Collection) -> frozenset[str]:
    codes = {field.name for field in collection.fields if field.kind is Kind.ID}
    return frozenset({*codes, *collection.day_fields[:1], *(set(collection.stamp_fields) - goes_with(collection))})


def plain_name(part: str) -> str:
    """Return what a part is called where it is not that of today."""
    return SLEEP if part == NIGHT else part


def _once(sleep: Record, readiness: Sequence[Record]) -> Record:
    """Leave a night's own readiness out where the day's record says the same."""
    own = sleep.get("readiness")
    if isinstance(own, dict) and any(_covers(record, own) for record in readiness[-1:]):
        return {name: value for name, value in sleep.items() if name != "readiness"}
    return sleep


def _covers(record: Record, own: Mapping[str, object]) -> bool:
    return all(name in record and record[name] == value for name, value in own.items())
