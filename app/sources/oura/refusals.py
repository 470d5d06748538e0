"""What it may cost that a source refuses even tokens it has just given: not one renewal for every call.

Each renewal spends a single-use credential and asks the token endpoint. Kept in memory, for each process by itself: it
bounds a cost and decides nothing about a sign-in.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.errors import ReconnectRequired

PAUSES_S: Final = (
    60.0,
    120.0,
    300.0,
    900.0,
)  # until the next renewal, by fresh tokens refused in a row; the last stays


@dataclass(slots=True)
class _Streak:
    token: int  # its hash: windows side by side meet the same refusal
    count: int
    not_before: float
    collections: set[str]  # that were refused with a fresh token; one of them taken again ends it


class Refusals:
    """The owners whose fresh tokens are refused.

    Args:
        clock: Seconds that only rise.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._streaks: dict[str, _Streak] = {}  # by owner; no more of them than may sign in

    def hold(self, owner: str, token: str) -> None:
        """Refuse to renew a refused token, when that would most likely bring another one that is refused.

        Raises:
            ReconnectRequired: This token was fresh when it was refused, a moment ago. Another one may be from before
                a renewal, and then no renewal is needed to get the present one.
        """
        streak = self._streaks.get(owner)
        if streak is None or streak.token != hash(token) or (left_s := streak.not_before - self._clock()) <= 0:
            return
        raise ReconnectRequired(
            f"Oura refuses the access token, as it refused the renewed one before, so it was not renewed again now; "
            f"that is possible in {math.ceil(left_s)} s. The owner must sign in at Oura again."
        )

    def note(self, owner: str, token: str, collection: str) -> None:
        """Note that a collection was refused with a token that had just been renewed."""
        before = self._streaks.get(owner)
        if before is not None:
            before.collections.add(collection)
            if before.token == hash(token):
                return
        count = 1 if before is None else before.count + 1
        pause_s = PAUSES_S[min(count, len(PAUSES_S)) - 1]
        refused = {collection} if before is None else before.collections
        self._streaks[owner] = _Streak(hash(token), count, self._clock() + pause_s, refused)

    def refused(self, owner: str) -> bool:
        """Say whether the newest token of this owner that was tried was refused although it was fresh."""
        return owner in self._streaks

    def forget(self, owner: str, collection: str) -> None:
        """Know that the source took a token for this collection.

        Others say nothing about those that were refused: a source that keeps one of them shut with a 401 would
        otherwise cost a renewal for each question that also asks an open one.
        """
        streak = self._streaks.get(owner)
        if streak is not None and collection in streak.collections:
            del self._streaks[owner]
