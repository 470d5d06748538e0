"""From records to what is delivered: fields, series, buckets, JSON or CSV, and the words that go with the numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from zoneinfo import ZoneInfo

from app.sources.base import Collection, Record
from app.tools.arguments import near
from app.tools.records.buckets import BY_TIME, bucketed, measured, samples_in
from app.tools.records.fields import always_asked, goes_with, has, known_names, samples, select, time_base, top
from app.tools.records.provenance import provenance, unit_of
from app.tools.records.tables import GUARD, table
from app.tools.rendering import Answer

_MOST_ALIKE: Final = 6


@dataclass(frozen=True, slots=True)
class Shape:
    """How the records of one question are to go out."""

    collection: Collection
    zone: ZoneInfo
    fields: tuple[str, ...] = ()  # as asked for, dotted; empty: all
    format: Literal["json", "csv"] = "json"
    full: bool = False  # sample series too
    resolution: str = "raw"

    @property
    def at_source(self) -> tuple[str, ...]:
        """The top-level fields the source can be asked for; empty: it must send everything.

        Also empty when a name is unknown to the catalogue: the source may have it all the same.
        """
        known = known_names(self.collection)
        if self.resolution != "raw" and self.collection.takes_fields:
            return tuple(sorted({measured(self.collection, self.fields).name, *always_asked(self.collection)} - {"id"}))
        if not self.collection.takes_fields or not self.fields or not all(name in known for name in self.fields):
            return ()
        return tuple(dict.fromkeys([*(top(name) for name in self.fields), *sorted(always_asked(self.collection))]))

    def found(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Return the fields asked for that exist: in the catalogue, or in the records themselves."""
        known = known_names(self.collection)
        return tuple(name for name in self.fields if name in known or any(has(record, name) for record in records))

    def deliver(self, records: Sequence[Record]) -> Answer:
        """Return `n`, `data`, `units` and what else must be said about these records."""
        found = self.found(records)
        said: Answer = {}
        if ignored := [name for name in self.fields if name not in found]:
            said["ignored_fields"] = ignored
            if meant := {name: like for name in ignored if (like := _alike(name, self.collection))}:
                said["fields_meant"] = meant
        if found and not self.at_source:
            said["fields_split"] = {"at_source": [], "here": list(found)}
        elif found and any("." in name for name in found):
            said["fields_split"] = {"at_source": list(self.at_source), "here": [name for name in found if "." in name]}
        if self.resolution != "raw":
            return self._buckets(records, said)
        chosen = list(records)
        if found:
            based = time_base(found, self.collection)
            chosen = [select(record, (*found, *based), goes_with(self.collection)) for record in records]
            asked = {top(name) for name in found}
            added = list(dict.fromkeys(name for record in chosen for name in record if name not in asked))
            if added := [*added, *based]:
                said["fields_added"] = added
        if not self.full:
            chosen, left_out = _without_series(chosen, self.collection, asked={top(name) for name in found})
            if left_out:
                said["series_left_out"] = left_out
        return self._written(chosen, said)

    def _buckets(self, records: Sequence[Record], said: Answer) -> Answer:
        field = measured(self.collection, self.fields)
        unit = unit_of(field)
        chosen = bucketed(records, self.collection, field=field, resolution=self.resolution, zone=self.zone)
        said |= {"resolution": self.resolution, "samples": samples_in(records)}
        units: Answer = {name: {**unit, "of": field.name} for name in ("min", "mean", "max")}
        if self.resolution != "5min":
            units[BY_TIME] = {**unit, "of": field.name, "how": "each five minutes with samples count once"}
        said["units"] = {"n": {"unit": "samples", "kind": "measurement"}, **units} if chosen else {}
        return self._data(chosen, said, first=("day", "start", "n", "min", "mean", BY_TIME, "max"))

    def _written(self, records: list[Record], said: Answer) -> Answer:
        said |= provenance(records, self.collection).answer()
        return self._data(records, said, first=())

    def _data(self, records: list[Record], said: Answer, *, first: Sequence[str]) -> Answer:
        if self.format == "json":
            return {"n": len(records), **said, "data": records}
        written = table(records, self.collection, first=first)
        if written.uneven:
            said["uneven_columns"] = list(written.uneven)
        if written.guarded:
            said["csv_guarded"] = {
                "cells": written.guarded,
                "how": f"a text that begins with = + - @ {GUARD}, a tab or a line break got one {GUARD} in front; "
                "numbers are untouched",
            }
        return {"n": len(records), **said, "data": written.text}


def _alike(name: str, collection: Collection) -> list[str]:
    """Return fields whose names share a word with this one, or look most like it."""
    known = sorted(one for one in known_names(collection) if "." not in one or top(one) not in collection.series)
    words = _words(name)
    return list(dict.fromkeys([*(one for one in known if words & _words(one)), *near(name, known)]))[:_MOST_ALIKE]


def _words(name: str) -> frozenset[str]:
    return frozenset(word for word in name.casefold().replace(".", "_").split("_") if len(word) > 2)


def _without_series(
    records: list[Record], collection: Collection, *, asked: set[str]
) -> tuple[list[Record], dict[str, int]]:
    """Leave out the sample series that were not asked for by name; return how many samples each held."""
    series = [name for name in collection.series if name not in asked]
    left_out: dict[str, int] = {}
    for record in records:
        for name in series:
            if count := samples(record.get(name)):
                left_out[name] = left_out.get(name, 0) + count
    if not series:
        return records, left_out
    return [{name: value for name, value in record.items() if name not in series} for record in records], left_out
