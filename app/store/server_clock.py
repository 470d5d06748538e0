"""The time that several machines agree on: that of the server whose store they share.

A record says when it ends, and may be read on another machine than the one that wrote it. Were each to use its own
clock, a code that lives a minute would be dead on arrival at a machine whose clock is ten minutes ahead.
"""

import time
from collections.abc import Awaitable, Callable

import anyio

from app import logs

_EVERY_S = 60.0  # how long a measurement is trusted
_JUMP_S = 1.0  # this machine's clock was set, or the machine slept: a measurement from before says nothing
_WORTH_SAYING_S = 5.0  # far more than a request takes, far less than the shortest lifetime (a code's 60 s)
_log = logs.get(__name__)

Ask = Callable[[], Awaitable[float]]  # asks the server for its unix seconds


class ServerClock:
    """This machine's clock, put right by the difference from the server's.

    Args:
        local: Unix seconds here.
        ask: Asks the server.
        steady: Seconds that nobody sets.
    """

    def __init__(self, local: Callable[[], float], ask: Ask, *, steady: Callable[[], float] = time.monotonic) -> None:
        self._local = local
        self._ask = ask
        self._steady = steady
        self._ahead_s = 0.0  # how far the server's clock is ahead of ours
        self._told_s = 0.0
        self._measured: tuple[float, float] | None = None  # local and steady time then
        self._measuring = anyio.Lock()

    def __call__(self) -> float:
        """Return the server's unix seconds, as last measured."""
        return self._local() + self._ahead_s

    def is_due(self) -> bool:
        """Whether to `measure` before the time is relied on again."""
        if self._measured is None:
            return True
        local_s, steady_s = self._local() - self._measured[0], self._steady() - self._measured[1]
        return steady_s >= _EVERY_S or abs(local_s - steady_s) > _JUMP_S

    async def measure(self) -> None:
        """Ask the server, unless somebody else just has.

        Raises:
            StoreUnavailable: It did not answer; nobody may go on with a time that is not known.
        """
        async with self._measuring:
            if not self.is_due():
                return
            before = self._local()
            there = await self._ask()
            after = self._local()
            # It looked at its clock somewhere between; half of a round trip is the most that this can be wrong.
            self._ahead_s = there - (before + after) / 2
            self._measured = (after, self._steady())
        if abs(self._ahead_s - self._told_s) > _WORTH_SAYING_S:
            self._told_s = self._ahead_s
            _log.warning("clock_differs", redis_is_ahead_s=round(self._ahead_s, 1))
