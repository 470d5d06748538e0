"""What the engine needs of a source's wire: how a window is asked for, and one page of its answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.identity import Caller
from app.sources.base import Collection, Record
from app.sources.windows import Window


@dataclass(frozen=True, slots=True)
class Page:
    """One page, records in the order the source sent them."""

    records: tuple[Record, ...]
    next_token: str | None = None  # None: this was the last page
    rate_limited: bool = False  # a 429 was met and waited out before it came


class Pages(Protocol):
    """One source's wire."""

    def question(
        self, collection: Collection, window: Window | None, *, fields: tuple[str, ...], latest: bool
    ) -> Mapping[str, str]:
        """Put a window into the source's own parameters, or no window: everything there is, or the latest record."""

    async def page(
        self, caller: Caller, collection: Collection, params: Mapping[str, str], *, next_token: str | None = None
    ) -> Page:
        """Ask once, within the source's retry rules.

        Args:
            caller: Whose credential is used.
            collection: What is asked.
            params: As `question` made them.
            next_token: The cursor of the page before; None for the first page.

        Raises:
            SourceError: This page did not arrive; others may.
            CallerError: No page of this question will arrive.
        """
