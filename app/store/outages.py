"""Says in the log that the store fails, and that it works again: once each, however many requests meet it."""

import time
from collections.abc import Callable
from typing import Literal

from app import logs
from app.errors import Outage, StoreUnavailable

_REMIND_S = 600.0  # while it goes on
_FLAPPING_S = 60.0  # a store that comes and goes faster than this is not worth two lines each time
log = logs.get(__name__)


class Outages:
    """What the log was told about one store handle."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: Literal["all", "writes"] | None = None
        self._said: dict[Outage, float] = {}  # when a line of this kind was last written; its words may vary
        self._told = False  # the log's last word is that the store fails

    def failed(self, failure: StoreUnavailable, *, wrote: bool) -> None:
        """Note a failure, of a call that writes or of one that reads; write a line if it is news.

        A store that is full or read-only still reads, whichever call met it: one that takes something out reads and
        writes.
        """
        of_writes = failure.outage in {"full", "read_only"} or (wrote and failure.outage != "unreachable")
        self._failing = "writes" if of_writes else "all"
        now = self._clock()
        if now - self._said.get(failure.outage, float("-inf")) < (_REMIND_S if self._told else _FLAPPING_S):
            return
        self._said[failure.outage], self._told = now, True
        log.error("store_unavailable", reason=str(failure))

    def worked(self, *, wrote: bool) -> None:
        """Note that the store did what was asked; write a line if it is news."""
        if self._failing is None or (self._failing == "writes" and not wrote):
            return  # that a full store can be read is no news
        self._failing = None
        if self._told:
            self._told = False
            log.warning("store_available_again")
