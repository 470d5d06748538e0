"""Where strangers are counted: one object that every handler with a price asks first."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.requests import Request

from app.authserver.limits.allowances import Allowance, Budget
from app.authserver.limits.askers import Asker, Askers
from app.store.base import Store

if TYPE_CHECKING:
    from app.authserver.limits.rates import Rates


class Gate:
    """Admits or refuses.

    Args:
        askers: Tells who asks.
        store: Where is counted, so that every process counts together.
        now: Unix seconds.
    """

    def __init__(self, askers: Askers, store: Store, *, now: Callable[[], float]) -> None:
        self._askers = askers
        self._store = store
        self._now = now
        self._made: Rates | None = None

    def asker(self, request: Request) -> Asker:
        """Return who sent a request."""
        return self._askers.of(request)

    async def admit(self, allowance: Allowance, asker: Asker) -> None:
        """Let one more of this asker in.

        Raises:
            TooManyRequests: There were too many.
            StoreUnavailable: Nobody can be counted.
        """
        await self._rates().admit(allowance, asker)

    async def spend(self, budget: Budget) -> bool:
        """Take one out of a budget; False if it is used up.

        Raises:
            StoreUnavailable: Nothing can be counted.
        """
        return await self._rates().spend(budget)

    async def renewed_in_s(self, budget: Budget) -> int:
        """Return how long it takes until a budget begins anew, in seconds.

        Raises:
            StoreUnavailable: Nothing can be read.
        """
        return await self._rates().renewed_in_s(budget)

    def _rates(self) -> "Rates":
        if self._made is None:
            from app.authserver.limits.rates import Rates  # noqa: PLC0415 -- 30 ms of a start, for what few minutes need

            self._made = Rates(self._store, now=self._now)
        return self._made
