"""Asks a source that is down gently: who comes is told at once, and one request at a time finds out whether it is back.

Down is what says nothing about the question: no connection, no answer in time, a 5xx, a web page. A 429 is no such
thing (`pace` knows what to do), nor is any refusal: those are answers. It is counted for the whole process, since all
of it goes to the same place. But as long as a 5xx or a web page came for one collection alone, that one may be broken
and the source not, and nobody is kept from the others.
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

    def __init__(self, collection: str, streak: int, *, last: bool) -> None:
        self.collection = collection
        self.streak = streak  # failures in a row when it was sent
        self.last = last  # it will not be repeated if it fails
        self.failure: str | None = None
        self.wait_s = 0.0

    def failed(self, reason: str, wait_s: float | None = None, *, last: bool = False) -> None:
        """Note that its answer says the source is down, how long it asks to be left alone, and if that is given up."""
        self.failure = reason
        self.last |= last
        self.wait_s = min(wait_s or 0.0, LONGEST_S)


class Breaker:
    """Lets requests through while the source answers, and one at a time while it does not.

    Args:
        clock: Seconds that only rise.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._streak = 0
        self._failing: set[str] = set()  # the collections in this row
        self._there = True  # in this row something always came, be it a 5xx
        self._since = 0.0  # of the first failure in a row
        self._not_before = -math.inf  # of the next probe
        self._reason = ""
        self._probe: anyio.Event | None = None  # set when the probe on its way is over

    async def wait(self, collection: str) -> None:
        """Wait for what comes of a probe that is on its way, before taking anything that others could use meanwhile.

        Raises:
            Down: See `refuse_while_down`.
        """
        while True:
            self.refuse_while_down(collection)
            if not self.probing(collection) or self._probe is None:
                return
            await self._probe.wait()

    def probing(self, collection: str) -> bool:
        """Say whether a request for it would have to wait for a probe."""
        return self._probe is not None and self._holds(collection)

    def refuse_while_down(self, collection: str) -> None:
        """Refuse whoever comes before the next probe is due.

        Args:
            collection: What is asked for.

        Raises:
            Down: Nothing is sent; the text says since when the source fails and when it is asked again.
        """
        now = self._clock()
        if not self._holds(collection) or now >= self._not_before:
            return
        raise Down(
            f"{self._what()} has been {self._lasting(now)}, so nothing was sent now. "
            f"Ask again in {math.ceil(self._not_before - now)} s: then one request tries it."
        )

    def down(self) -> str | None:
        """Say that the source is down, or what of it, as far as is known; None if it answers."""
        return f"{self._what()} has been {self._lasting(self._clock())}" if self._streak >= FAILURES else None

    @asynccontextmanager
    async def asking(self, collection: str, *, last: bool = True) -> AsyncIterator[Asking]:
        """Surround one request. While another one probes, wait for what comes of it: better before, see `wait`.

        Args:
            collection: What is asked for.
            last: It will not be repeated if it fails. A failure that will be counts only while probing.

        Raises:
            Down: See `refuse_while_down`.
        """
        probe = await self._admitted(collection)
        asking = Asking(collection, self._streak, last=last or probe is not None)
        try:
            yield asking
        except Unreachable as error:
            self._fail(asking, error.reason, there=False)
            raise
        except Exception:
            self._answered(collection)  # too large, say: something came
            raise
        else:
            if asking.failure is not None:
                self._fail(asking, asking.failure)
            else:
                self._answered(collection)
        finally:  # whoever hangs up has learned nothing, and the next one probes
            if probe is not None:
                self._probe = None
                probe.set()

    def _one_alone(self) -> bool:
        return self._there and len(self._failing) == 1

    def _holds(self, collection: str) -> bool:
        return self._streak >= FAILURES and (not self._one_alone() or collection in self._failing)

    def _what(self) -> str:
        return f"Oura's {next(iter(self._failing))}" if self._one_alone() else "Oura"

    def _lasting(self, now: float) -> str:
        return f"failing for {_lasting(now - self._since)} (last: {self._reason})"

    async def _admitted(self, collection: str) -> anyio.Event | None:
        """Return once a request may be sent: as a probe, with the event that others wait for, or as one of many."""
        await self.wait(collection)
        if not self._holds(collection):
            return None
        self._probe = anyio.Event()
        return self._probe

    def _fail(self, asking: Asking, reason: str, *, there: bool = True) -> None:
        if not asking.last:
            return
        if asking.streak != self._streak:
            return  # it was on its way when another failed, so it tells nothing new: a line cut once cuts them all
        now = self._clock()
        one_was = self._streak >= FAILURES and self._one_alone()
        self._failing.add(asking.collection)
        self._there &= there
        widened = one_was and not self._one_alone()
        if widened:
            self._streak = FAILURES - 1  # from now on it is the source, whatever the one has been for how long
        if widened or self._streak == 0:
            self._since = now
        self._streak += 1
        self._reason = reason
        if self._streak >= FAILURES:
            pause_s = PAUSES_S[min(self._streak - FAILURES, len(PAUSES_S) - 1)]
            self._not_before = now + max(pause_s, asking.wait_s)
        if self._streak == FAILURES:
            _log.warning("source_down", source="oura", reason=reason)

    def _answered(self, collection: str) -> None:
        if self._streak >= FAILURES and not self._holds(collection):
            return  # it says nothing about the one that is held
        if self._streak >= FAILURES:
            _log.warning("source_back", source="oura")
        self._streak = 0
        self._failing.clear()
        self._there = True


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"
