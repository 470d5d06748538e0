"""Identical questions that are in flight at the same time are asked once. Nothing is kept once the answer is there."""

import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

import anyio

from app.errors import VitalsError
from app.sources.base import Fetched, Progress

Ask = Callable[[Progress, float], Awaitable[Fetched]]  # told of each page, and with so many seconds left
_LATE_S: Final = 3.0  # whoever waits may hear so much later: `tools.calling` leaves a call 6 s beyond its questions


class _Flight:
    """One question on its way, and who waits for it."""

    def __init__(self, until: float) -> None:
        self.until = until  # it has landed by then
        self.progress: tuple[int, int | None, str] | None = None
        self.answer: Fetched | None = None
        self.error: VitalsError | None = None
        self.landed = False
        self.news = anyio.Event()

    def tell(self) -> None:
        """Wake whoever waits."""
        self.news.set()
        self.news = anyio.Event()


class Flights:
    """The questions in flight in this process.

    Args:
        clock: Seconds that only rise.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._flights: dict[Hashable, _Flight] = {}

    async def share(self, key: Hashable, ask: Ask, progress: Progress | None, *, left_s: float) -> Fetched:
        """Ask, or wait for the same question that is already being asked.

        Whoever asks first carries the question; if they hang up, one of those who wait asks it again. Who has much less
        time than the one who carries it, or much more, asks for themselves: at the end of its time a question gives
        what it has, so the one would hear too late and the other would get a part of what there is.

        Args:
            key: What makes two questions the same. MUST name the owner and the grant.
            ask: Asks it, telling the given function of each page, in the time given.
            progress: Told of each page, whoever asks.
            left_s: Seconds that the question may take.

        Raises:
            VitalsError: What asking raised, to everyone who waited.
        """
        until = self._clock() + left_s
        while True:
            flight, now = self._flights.get(key), self._clock()
            if flight is None:
                return await self._carry(key, ask, progress, until=until)
            if not now + (until - now) / 2 <= flight.until <= until + _LATE_S:
                return await ask(progress or _tell_nobody, until - now)
            await self._wait(flight, progress)
            if flight.error is not None:
                raise flight.error
            if flight.answer is not None:
                return flight.answer

    async def _carry(self, key: Hashable, ask: Ask, progress: Progress | None, *, until: float) -> Fetched:
        flight = self._flights[key] = _Flight(until)

        async def told(pages: int, expected: int | None, words: str) -> None:
            flight.progress = (pages, expected, words)
            flight.tell()
            if progress is not None:
                await progress(pages, expected, words)

        try:
            flight.answer = await ask(told, until - self._clock())
        except VitalsError as error:
            flight.error = error
            raise
        finally:  # also when the carrier hung up: then neither answer nor error is set, and someone else asks
            del self._flights[key]
            flight.landed = True
            flight.tell()
        return flight.answer

    async def _wait(self, flight: _Flight, progress: Progress | None) -> None:
        seen = None
        while not flight.landed:
            await flight.news.wait()
            if progress is not None and flight.progress is not None and flight.progress is not seen:
                seen = flight.progress
                await progress(*seen)


async def _tell_nobody(_pages: int, _expected: int | None, _words: str) -> None:
    """Nobody listens."""
