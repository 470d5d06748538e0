"""Identical questions that are in flight at the same time are asked once. Nothing is kept once the answer is there."""

from collections.abc import Awaitable, Callable, Hashable

import anyio

from app.errors import VitalsError
from app.sources.base import Fetched, Progress


class _Flight:
    """One question on its way, and who waits for it."""

    def __init__(self) -> None:
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
    """The questions in flight in this process."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight] = {}

    async def share(
        self, key: Hashable, ask: Callable[[Progress], Awaitable[Fetched]], progress: Progress | None
    ) -> Fetched:
        """Ask, or wait for the same question that is already being asked.

        Whoever asks first carries the question; if they hang up, one of those who wait asks it again.

        Args:
            key: What makes two questions the same. MUST name the owner and the grant.
            ask: Asks it, telling the given function of each page.
            progress: Told of each page, whoever asks.

        Raises:
            VitalsError: What asking raised, to everyone who waited.
        """
        while True:
            flight = self._flights.get(key)
            if flight is None:
                return await self._carry(key, ask, progress)
            await self._wait(flight, progress)
            if flight.error is not None:
                raise flight.error
            if flight.answer is not None:
                return flight.answer

    async def _carry(
        self, key: Hashable, ask: Callable[[Progress], Awaitable[Fetched]], progress: Progress | None
    ) -> Fetched:
        flight = self._flights[key] = _Flight()

        async def told(pages: int, expected: int | None, words: str) -> None:
            flight.progress = (pages, expected, words)
            flight.tell()
            if progress is not None:
                await progress(pages, expected, words)

        try:
            flight.answer = await ask(told)
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
