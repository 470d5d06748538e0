"""What the numbers and words of an answer are: units of every number, and what the catalogue does not know.

Nothing is changed or dropped here: an unknown field or a new value goes out as it came, and is named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.sources.base import Collection, Field, Kind, Record
from app.tools.records.fields import by_name, leaves
from app.tools.rendering import Answer

_NUMERIC = (Kind.SCORE, Kind.MEASUREMENT)
_MOST_VALUES = 10  # unknown ones, named of each field
_SHOWN_CHARS = 60  # of an unknown value; the whole stands in the data


@dataclass(slots=True)
class Provenance:
    """What was read of some records."""

    units: dict[str, dict[str, object]] = field(default_factory=dict)
    unknown_fields: list[str] = field(default_factory=list)
    unknown_values: dict[str, list[object]] = field(default_factory=dict)
    free_text: list[str] = field(default_factory=list)

    def answer(self) -> Answer:
        """Return the members of an answer; `units` always, the others where there is something to say."""
        said: Answer = {"units": self.units}
        if self.unknown_fields:
            said["unknown_fields"] = self.unknown_fields
        if self.unknown_values:
            said["unknown_values"] = self.unknown_values
        if self.free_text:
            said["free_text"] = self.free_text
        return said


def unit_of(field: Field) -> dict[str, object]:
    """Return what `units` says about a field: its kind, and its unit if it has one."""
    return {"unit": field.unit, "kind": str(field.kind)} if field.unit else {"kind": str(field.kind)}


def provenance(records: Sequence[Record], collection: Collection) -> Provenance:
    """Read what there is to say about records of one collection."""
    found = Provenance()
    known = by_name(collection)
    objects = {".".join(parts[:n]) for name in known for parts in (name.split("."),) for n in range(1, len(parts))}
    own_words: set[str] = set()
    for record in records:
        for name, value in _values(record, collection.series):
            about = known.get(name)
            if about is None:
                _unknown(name, value, objects, found)
                continue
            if _is_number(value) or about.kind in _NUMERIC or (about.kind is Kind.SERIES and about.unit):
                found.units.setdefault(name, unit_of(about))
            if value is None:
                continue
            if about.kind is Kind.TEXT:
                own_words.add(name)
            elif _is_new(about, value):
                _note(name, value, found)
    found.free_text = [name for name in known if name in own_words]
    return found


def _values(record: Mapping[str, object], series: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Yield every value by dotted name: also those of objects inside lists, and the parts of a series beside it."""
    for name, value in leaves(record, series):
        if name in series and isinstance(value, dict):
            yield name, value
            yield from ((f"{name}.{part}", inside) for part, inside in value.items() if not isinstance(inside, list))
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for item in value:
                if isinstance(item, dict):
                    yield from ((f"{name}.{part}", inside) for part, inside in _values(item, ()))
        else:
            yield name, value


def _unknown(name: str, value: object, objects: set[str], found: Provenance) -> None:
    if name in objects and not _is_number(value):  # null, or empty, for an object
        return
    if name not in found.unknown_fields:
        found.unknown_fields.append(name)
    if _is_number(value) or (isinstance(value, list) and any(_is_number(item) for item in value)):
        found.units.setdefault(name, {"kind": "unknown"})


def _is_new(about: Field, value: object) -> bool:
    """Say whether a value is none that the catalogue expects of this field."""
    if about.kind in _NUMERIC:
        return not _is_number(value)
    if about.kind is not Kind.CATEGORY or not about.values:
        return False
    return (str(value).lower() if isinstance(value, bool) else value) not in about.values


def _note(name: str, value: object, found: Provenance) -> None:
    shown = value[:_SHOWN_CHARS] if isinstance(value, str) else value if _is_number(value) else type(value).__name__
    noted = found.unknown_values.setdefault(name, [])
    if shown not in noted and len(noted) < _MOST_VALUES:
        noted.append(shown)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def merged(units: Mapping[str, Mapping[str, object]], prefix: str) -> dict[str, Mapping[str, object]]:
    """Return units under a longer name, for answers that carry records of several collections."""
    return {f"{prefix}.{name}": unit for name, unit in units.items()}


def by_group(units: Mapping[str, Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
    """Return units with `group.*` for the members of an object, where the same holds for all of them."""
    groups: dict[str, list[str]] = {}
    for name in units:
        if "." in name:
            groups.setdefault(name.rpartition(".")[0], []).append(name)
    alike = {
        group: members
        for group, members in groups.items()
        if len(members) > 1 and all(units[member] == units[members[0]] for member in members)
    }
    found: dict[str, Mapping[str, object]] = {}
    for name, unit in units.items():
        group = name.rpartition(".")[0]
        found[f"{group}.*" if group in alike else name] = unit
    return found
