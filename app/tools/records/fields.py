"""The fields of records: which are asked for, which go out, what they are called."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.sources.base import Collection, Field, Record


def always_asked(collection: Collection) -> frozenset[str]:
    """Return the fields without which a record cannot be told apart, placed, or its others not be read."""
    ends = {collection.end_day_field} if collection.end_day_field else set()
    kept = (*collection.day_fields, *collection.stamp_fields[:1], *collection.read_with, *collection.covered_by)
    return frozenset({"id", *kept, *ends})


def goes_with(collection: Collection) -> frozenset[str]:
    """Return the fields that go out whatever others are asked for: what a row is read by, and no more.

    That is its day, and its time where a day can have several; of what lasts also the id, since a record that runs on
    past a cut comes again.
    """
    several = collection.dense or collection.entered or collection.clock_end_field is not None
    left_out = {"id"} if collection.end_day_field is None else set()
    left_out |= set(collection.covered_by) - set(collection.read_with)  # they tell us how much of the day there is
    if not several:
        left_out |= set(collection.stamp_fields) - set(collection.day_fields)
    return always_asked(collection) - left_out


def time_base(names: Sequence[str], collection: Collection) -> tuple[str, ...]:
    """Return what samples asked for alone are placed in time by: `hrv.interval` and `hrv.timestamp` for `hrv.items`."""
    alone = [top(name) for name in names if name.endswith(".items") and top(name) in collection.series]
    known = {field.name for field in collection.fields}
    wanted = (f"{series}.{part}" for series in alone if series not in names for part in ("interval", "timestamp"))
    return tuple(dict.fromkeys(name for name in wanted if name in known and name not in names))


def top(name: str) -> str:
    """`contributors` of `contributors.deep_sleep`."""
    return name.partition(".")[0]


def known_names(collection: Collection) -> frozenset[str]:
    """Return every name a question may use: the fields, and the objects they stand in."""
    found = set(collection.series)
    for field in collection.fields:
        parts = field.name.split(".")
        found.update(".".join(parts[: n + 1]) for n in range(len(parts)))
    return frozenset(found)


def has(record: Mapping[str, object], name: str) -> bool:
    """Whether a record carries the dotted name."""
    here: object = record
    for part in name.split("."):
        if isinstance(here, list):
            here = next((item for item in here if isinstance(item, dict) and part in item), None)
        if not isinstance(here, Mapping) or part not in here:
            return False
        here = here[part]
    return True


def value_at(record: Mapping[str, object], name: str) -> object:
    """Return what stands under a dotted name; None where there is nothing."""
    here: object = record
    for part in name.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    return here


def select(record: Record, names: Sequence[str], kept: frozenset[str]) -> Record:
    """Return the record with only the dotted `names` and the `kept` fields, in the record's own order."""
    wanted: dict[str, list[str] | None] = dict.fromkeys(kept)
    for name in names:
        head, _, rest = name.partition(".")
        inner = wanted.get(head, [])
        wanted[head] = None if not rest or inner is None else [*inner, rest]
    return {
        name: value if (inner := wanted[name]) is None else _inside(value, inner)
        for name, value in record.items()
        if name in wanted
    }


def _inside(value: object, names: list[str]) -> object:
    if isinstance(value, dict):
        return select(value, names, frozenset())
    if isinstance(value, list):
        return [_inside(item, names) for item in value]
    return value


def leaves(record: Mapping[str, object], series: Iterable[str] = (), prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (dotted name, value) for everything but nested objects; a series stays whole."""
    for name, value in record.items():
        full = f"{prefix}{name}"
        if isinstance(value, dict) and value and full not in series:
            yield from leaves(value, series, f"{full}.")
        else:
            yield full, value


def by_name(collection: Collection) -> dict[str, Field]:
    """Return the collection's fields by dotted name."""
    return {field.name: field for field in collection.fields}


def samples(value: object) -> int:
    """Count the samples in a series: an object with `items`, a list, or a string of one digit a sample."""
    if isinstance(value, dict):
        value = value.get("items")
    return len(value) if isinstance(value, list | str) else 0
