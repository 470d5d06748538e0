"""One call's view of the sources: whatever it asks, all its questions together end before whoever asked gives up."""

import time
from collections.abc import Callable, Mapping
from typing import Final
from zoneinfo import ZoneInfo

from app.errors import ReconnectRequired, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Digest, Fetched, Progress, Source
from app.sources.registry import Sources
from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshMisconfigured

_OF_THE_CREDENTIAL: Final = (ReconnectRequired, RefreshMisconfigured, NotSent, OutcomeUnknown)


class Timed:
    """A `base.Source` whose questions are given only what is left of the time.

    Args:
        source: Who is asked.
        until: When the last question must have ended, on `clock`.
        clock: Seconds that only rise.
    """

    def __init__(self, source: Source, *, until: float, clock: Callable[[], float]) -> None:
        self._source = source
        self._until = until
        self._clock = clock
        self._failed: VitalsError | None = None

    @property
    def name(self) -> str:
        """See `base.Source`."""
        return self._source.name

    @property
    def synthetic(self) -> bool:
        """See `base.Source`."""
        return self._source.synthetic

    @property
    def collections(self) -> Mapping[str, Collection]:
        """See `base.Source`."""
        return self._source.collections

    def end(self) -> None:
        """See `base.Source`."""
        self._source.end()

    async def granted(self, caller: Caller) -> frozenset[str] | None:
        """See `base.Source`."""
        return await self._source.granted(caller)

    async def timezone(self, caller: Caller) -> ZoneInfo | None:
        """See `base.Source`."""
        return await self._source.timezone(caller)

    async def health(self, caller: Caller) -> Mapping[str, object]:
        """See `base.Source`."""
        return await self._source.health(caller)

    async def fetch(
        self,
        caller: Caller,
        collection: Collection,
        days: DateRange | None,
        *,
        fields: tuple[str, ...] = (),
        latest: bool = False,
        progress: Progress | None = None,
        digest: Digest | None = None,
        within_s: float | None = None,
    ) -> Fetched:
        """See `base.Source`.

        What goes wrong with the credential concerns every question of a call: the others hear the same words and try
        nothing again. A renewal whose outcome is unknown must not be repeated in the same breath, and that a sign-in
        was interrupted is told in full only once, perhaps to a question that was put beside the owner's.
        """
        if self._failed is not None:
            raise self._failed
        left_s = self._until - self._clock()
        try:
            return await self._source.fetch(
                caller,
                collection,
                days,
                fields=fields,
                latest=latest,
                progress=progress,
                digest=digest,
                within_s=left_s if within_s is None else min(left_s, within_s),
            )
        except _OF_THE_CREDENTIAL as failed:
            self._failed = self._failed or failed
            raise self._failed from None


def within(sources: Sources, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> Sources:
    """Return the same sources, for so many seconds from now."""
    until = clock() + seconds
    return Sources([Timed(source, until=until, clock=clock) for source in sources])
