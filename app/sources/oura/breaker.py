"""Asks a source that is down gently: who comes is told at once, and one request at a time finds out whether it is back.

Down is what says nothing about the question: no connection, no answer in time, a 5xx, a web page. A 429 is no such
thing (`pace` knows what to do), nor is any refusal: those are answers. It is counted for the whole process, since all
of it goes to the same place: in a row without any answer, for the source, and in a row of its own for each collection,
since one may be broken while the others answer. As long as a 5xx or a web page came for one collection alone, nobody
is kept from the others.
"""

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from app import logs
from app.errors import SourceUnreachable
from app.sources.oura.sending import Unreachable

FAILURES: Final = 3  # requests given up in a row, each after its repetition: what a repetition mends is not down
PAUSES_S: Final = (5.0, 10.0, 20.0, 40.0, 60.0)  # before each probe; the last stays
LONGEST_S: Final = 300.0  # of a wait that the source asks for: owners wait with us
_log = logs.get(__name__)


class Down(SourceUnreachable):
    """The source has been failing, so this request was not sent."""


class Asking:
    """One request on its way."""

    def __init__(self, collection: str, *, last: bool) -> None:
        self.collection = collection
        self.last = last  # it will not be repeated if it fails
        self.failure: str | None = None
        self.wait_s = 0.0

    def failed(self, reason: str, wait_s: float | None = None, *, last: bool = False) -> None:
        """Note that its answer says the source is down, how long it asks to be left alone, and if that is given up."""
        self.failure = reason
        self.last |= last
        self.wait_s = min(wait_s or 0.0, LONGEST_S)


class _Row:
    """Failures one after the other, of the source or of one collection."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.failures = 0
        self.since = 0.0  # of the first
        self.not_before = -math.inf  # of the next probe
        self.reason = ""
        self.probe: anyio.Event | None = None  # set when the probe on its way is over

    def add(self, reason: str, now: float, wait_s: float) -> None:
        """Count one, and once there are enough say when the next probe may go out."""
        if self.failures == 0:
            self.since = now
        self.failures += 1
        self.reason = reason
        if self.failures >= FAILURES:
            pause_s = PAUSES_S[min(self.failures - FAILURES, len(PAUSES_S) - 1)]
            self.not_before = now + max(pause_s, wait_s)

    def told(self, now: float) -> str:
        """Say what it is and since when."""
        return f"{self.what} has been failing for {_lasting(now - self.since)} (last: {self.reason})"


class Breaker:
    """Lets requests through while the source answers, and one at a time while it does not.

    Args:
        clock: Seconds that only rise.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._source = _Row("Oura")
        self._failing: set[str] = set()  # the collections in the source's row
        self._there = True  # in that row something always came, be it a 5xx
        self._alone: dict[str, _Row] = {}  # by collection

    async def wait(self, collection: str) -> None:
        """Wait for what comes of a probe that is on its way, before taking anything that others could use meanwhile.

        Raises:
            Down: See `refuse_while_down`.
        """
        while True:
            self.refuse_while_down(collection)
            row = self._holding(collection)
            if row is None or row.probe is None:
                return
            await row.probe.wait()

    def probing(self, collection: str) -> bool:
        """Say whether a request for it would have to wait for a probe."""
        row = self._holding(collection)
        return row is not None and row.probe is not None

    def refuse_while_down(self, collection: str) -> None:
        """Refuse whoever comes before the next probe is due.

        Args:
            collection: What is asked for.

        Raises:
            Down: Nothing is sent; the text says since when the source fails and when it is asked again.
        """
        row, now = self._holding(collection), self._clock()
        if row is None or now >= row.not_before:
            return
        raise Down(
            f"{row.told(now)}, so nothing was sent now. "
            f"Ask again in {math.ceil(row.not_before - now)} s: then one request tries it."
        )

    def down(self) -> str | None:
        """Say that the source is down, or what of it; None if it answers, or if nobody has asked for a while."""
        now = self._clock()
        return "; ".join(row.told(now) for row in self._rows() if now < row.not_before + LONGEST_S) or None

    @asynccontextmanager
    async def asking(self, collection: str, *, last: bool = True) -> AsyncIterator[Asking]:
        """Surround one request. While another one probes, wait for what comes of it: better before, see `wait`.

        Args:
            collection: What is asked for.
            last: It will not be repeated if it fails. A failure that will be counts only while probing.

        Raises:
            Down: See `refuse_while_down`.
        """
        await self.wait(collection)
        held = self._holding(collection)
        probe = anyio.Event()
        if held is not None:
            held.probe = probe
        rows = [(row, row.failures) for row in (self._source, self._row(collection))]
        asking = Asking(collection, last=last or held is not None)
        try:
            yield asking
        except Unreachable as error:
            self._fail(asking, rows, error.reason, there=False)
            raise
        except Exception:
            self._answered(collection)  # too large, say: something came
            raise
        else:
            if asking.failure is not None:
                self._fail(asking, rows, asking.failure)
            else:
                self._answered(collection)
        finally:  # whoever hangs up has learned nothing, and the next one probes
            if held is not None:
                held.probe = None
                probe.set()

    def _rows(self) -> list[_Row]:
        """Return the rows that keep something from being asked freely."""
        return [self._source] if self._source_holds() else [row for row in self._alone.values() if _holds(row)]

    def _source_holds(self) -> bool:
        return _holds(self._source) and not (self._there and len(self._failing) == 1)

    def _holding(self, collection: str) -> _Row | None:
        """Return the row that keeps a collection from being asked freely."""
        if self._source_holds():
            return self._source
        row = self._alone.get(collection)
        return row if row is not None and _holds(row) else None

    def _row(self, collection: str) -> _Row:
        return self._alone.setdefault(collection, _Row(f"Oura's {collection}"))

    def _fail(self, asking: Asking, rows: list[tuple[_Row, int]], reason: str, *, there: bool = True) -> None:
        """Count a failure, unless it was on its way when another failed: a line that is cut once cuts them all.

        Args:
            asking: The request.
            rows: That of the source and that of the collection, with the failures in each when it was sent.
            reason: Why, in a few words.
            there: Something came, be it a 5xx; else it says nothing about the collection alone.
        """
        if not asking.last:
            return
        before, now = self._rows(), self._clock()
        for row, failures in rows:
            if row.failures == failures and (there or row is self._source):
                row.add(reason, now, asking.wait_s)
                if row is self._source:
                    self._failing.add(asking.collection)
                    self._there &= there
        for row in self._rows():
            if row not in before:
                alone = "" if row is self._source else f" ({asking.collection} alone)"
                _log.warning("source_down", source="oura", reason=f"{reason}{alone}")

    def _answered(self, collection: str) -> None:
        was_down = bool(self._rows())
        if self._source_holds():
            self._alone.clear()  # what each of them met was the same thing, and that is over
        else:
            self._alone.pop(collection, None)
        self._source.failures = 0
        self._failing.clear()
        self._there = True
        if was_down and not self._rows():
            _log.warning("source_back", source="oura")


def _holds(row: _Row) -> bool:
    return row.failures >= FAILURES


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"
