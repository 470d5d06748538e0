"""Records as one CSV text, after RFC 4180: CRLF after each record, quotes doubled, commas and breaks inside quotes.

Nested objects become dotted columns; a list, or a series kept whole, is JSON text in its cell. A missing value is an
empty cell, an empty text is `""`. A spreadsheet would run a text that begins with = + - or @, some also behind a tab or
line break, so such a text (and one that begins with the mark itself) gets one ' in front; numbers never do. Taking one
leading ' away gives the text back.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.sources.base import Collection, Record
from app.tools.records.fields import leaves

GUARD = "'"
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", GUARD)


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV text and what a reader must know about it."""

    text: str
    uneven: tuple[str, ...]  # columns that not every record has
    guarded: int  # cells that got a ' in front


def table(records: Sequence[Record], collection: Collection, *, first: Sequence[str] = ()) -> Table:
    """Write records under one header.

    Args:
        records: In the order they are to stand in.
        collection: Its fields give the order of the columns; unknown ones follow, sorted.
        first: Columns that stand before all others.
    """
    rows = [dict(leaves(record, collection.series)) for record in records]
    columns = _columns(rows, [*first, *(field.name for field in collection.fields)])
    if not columns:
        return Table("", (), 0)
    guarded = 0
    lines = [_line(_quoted(column) for column in columns)]
    for row in rows:
        cells = []
        for column in columns:
            cell, risky = _cell(row.get(column))
            guarded += risky
            cells.append(cell)
        lines.append(_line(cells))
    uneven = tuple(column for column in columns if any(column not in row for row in rows))
    return Table("".join(lines), uneven, guarded)


def _columns(rows: Sequence[Record], order: Iterable[str]) -> list[str]:
    present = {column for row in rows for column in row}
    # A null where others carry an object is those columns' empty cells, not a column of its own.
    hollow = {
        column
        for column in present
        if any(other.startswith(f"{column}.") for other in present) and all(not row.get(column) for row in rows)
    }
    present -= hollow
    ordered = [column for column in dict.fromkeys(order) if column in present]
    return [*ordered, *sorted(present.difference(ordered))]


def _cell(value: object) -> tuple[str, int]:
    if value is None:
        return "", 0
    if isinstance(value, bool):
        return ("true" if value else "false"), 0
    if isinstance(value, str):
        risky = value.startswith(_RISKY)
        return _quoted(GUARD + value if risky else value), int(risky)
    return _quoted(json.dumps(value, separators=(",", ":"), ensure_ascii=False)), 0


def _quoted(text: str) -> str:
    if text == "" or any(mark in text for mark in ',"\r\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _line(cells: Iterable[str]) -> str:
    whole = ",".join(cells)
    return (whole or '""') + "\r\n"  # a line with nothing on it would be no record at all
