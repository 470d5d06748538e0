"""That this process is about to end: what is asked of a source then has seconds left, and answers with what it has."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

# From the word to stop until questions end. Below `serving._GRACEFUL_S`, after which requests are cut, and above
# `vault.rotation._LAST_ANSWER_S`, so that whoever waits for a renewal hears what became of that.
LAST_S: Final = 5.0


class Ending:
    """Tells every question under way, and those that still come.

    Args:
        sleep: Waits, in seconds.
        clock: Seconds that only rise.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._begun = anyio.Event()
        self._over_at = 0.0

    def begin(self) -> None:
        """Say that the process has been told to stop."""
        if not self._begun.is_set():
            self._over_at = self._clock() + LAST_S
            self._begun.set()

    async def over(self) -> None:
        """Return when it is time to answer with what there is: never, while nobody has said `begin`."""
        await self._begun.wait()
        left_s = self._over_at - self._clock()
        if left_s > 0:
            await self._sleep(left_s)
