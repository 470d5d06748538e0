"""How fast this process asks Oura, over all its questions: so many requests at once, and none while Oura says to wait.

Oura counts requests of a token in five minutes, whatever question they belong to, so a 429 that one window meets holds
up all of them: nobody sends before its wait is over, then half as many go side by side, and one more for each dozen or
so of answers.
"""

import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from app.errors import SourceBusy

AT_ONCE: Final = 8  # requests of this process on their way to Oura
ANSWERS_FOR_ONE_MORE: Final = 12
_LONGEST_S: Final = 300.0  # Oura's window; a longer wait is not held against questions that nobody has asked yet


class Held(SourceBusy):
    """Oura said to wait before, so this request was not sent."""


class Pace:
    """Lets requests through, first come, first served.

    Args:
        at_once: How many may be on their way while all is well.
        sleep: Waits, in seconds.
        clock: Seconds that only rise.
    """

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = at_once
        self._limit = at_once
        self._sleep = sleep
        self._clock = clock
        self._under_way = 0
        self._waiting_out = 0  # who waits out a 429
        self._not_before = -math.inf  # after a wait that nobody waited out
        self._answers = 0  # since the last 429 or the last rise
        self._queue: deque[anyio.Event] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold one of the places while a request is on its way.

        Raises:
            Held: Oura said to wait, for longer than anyone waits; nothing was sent.
        """
        self._refuse_while_told_to_wait()
        await self._enter()
        try:
            self._refuse_while_told_to_wait()  # it may have been said while this one stood in the queue
            yield
        finally:
            self._under_way -= 1
            self._admit()

    def answered(self) -> None:
        """Note an answer that was no 429."""
        self._answers += 1
        if self._answers >= ANSWERS_FOR_ONE_MORE and self._limit < self._most:
            self._limit, self._answers = self._limit + 1, 0
            self._admit()

    def limited(self) -> None:
        """Note a 429, while its turn is held: from here on nobody is let through.

        Without a pause after it must come `wait_out` or `refuse_for`. Those that were on their way together count as
        one.
        """
        if not self._waiting_out:
            self._limit = max(1, self._limit // 2)
        self._answers = 0
        self._waiting_out += 1

    async def wait_out(self, seconds: float) -> None:
        """Wait, and only then let the others through."""
        try:
            await self._sleep(seconds)
        finally:
            self._open()

    def refuse_for(self, seconds: float) -> None:
        """Refuse whoever comes until then: this wait is too long to be waited out."""
        self._not_before = max(self._not_before, self._clock() + min(seconds, _LONGEST_S))
        self._open()

    def _open(self) -> None:
        self._waiting_out -= 1
        self._admit()

    def _refuse_while_told_to_wait(self) -> None:
        left_s = self._not_before - self._clock()
        if left_s > 0:
            raise Held(
                f"Oura's rate limit was reached (HTTP 429) and it said to wait; nothing was sent. "
                f"Ask again in {math.ceil(left_s)} s.",
                status=429,
                retry_after_s=left_s,
            )

    def _free(self) -> bool:
        return not self._waiting_out and self._under_way < self._limit

    async def _enter(self) -> None:
        if not self._queue and self._free():
            self._under_way += 1
            return
        admitted = anyio.Event()
        self._queue.append(admitted)
        try:
            await admitted.wait()
        except BaseException:
            if admitted.is_set():  # given a place and cancelled at the same moment
                self._under_way -= 1
                self._admit()
            else:
                self._queue.remove(admitted)
            raise

    def _admit(self) -> None:
        while self._queue and self._free():
            self._under_way += 1
            self._queue.popleft().set()
