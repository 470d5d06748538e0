"""A range of days → windows → pages → records: complete, each once, in order, or saying what is missing.

Knows no source's wire (`pages.Pages` does) and keeps nothing after the answer.
"""

from app.errors import BadRequest
from app.identity import Caller
from app.sources.base import Collection, DateKind, DateRange, Digest, Fetched, Progress
from app.sources.flights import Flights
from app.sources.question import Question, Terms

FIRST_YEAR, LAST_YEAR = 1990, 2199  # wide enough for any wearable, narrow enough for date arithmetic


class Engine:
    """Asks one source."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._flights = Flights(clock=terms.clock)

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
        """Bring every record of the range; see `base.Source.fetch`.

        Identical questions of one owner and grant that are in flight are asked once and share their records, which
        nobody may change.

        Raises:
            BadRequest: The range or the combination of arguments cannot be asked.
            CallerError: The source refuses this caller.
            SourceError: Nothing arrived at all; what arrives in part is delivered with `complete` false.
        """
        _check(collection, days, latest=latest)
        if collection.date_kind is DateKind.UNDATED or latest:
            days = None
        if digest is not None and (days is None or not collection.dense):
            raise ValueError("only samples of a range of days can be put together")
        wanted = tuple(sorted({name.split(".", 1)[0] for name in fields}))

        async def ask(told: Progress, left_s: float) -> Fetched:
            return await Question(
                self._terms, caller, collection, days, wanted, latest, told, digest, limit_s=left_s
            ).answer()

        span = (days.start, days.end, str(days.zone)) if days is not None else None
        key = (caller.owner, caller.grant, collection.qualified, span, wanted, latest, digest)
        most_s = self._terms.question_s
        left_s = most_s if within_s is None else min(within_s, most_s)
        return await self._flights.share(key, ask, progress, left_s=left_s)


def _check(collection: Collection, days: DateRange | None, *, latest: bool) -> None:
    if latest and not collection.dense:
        raise BadRequest(
            f"`latest` works for streams of samples only, not for {collection.name}. Ask for days instead."
        )
    if latest and days is not None:
        raise BadRequest("`latest` brings the newest record whatever the days; leave the days out, or `latest`.")
    if collection.date_kind is DateKind.UNDATED or latest:
        return
    if days is None:
        raise BadRequest(f"{collection.name} is filed under days; say which (start and end).")
    if days.end < days.start:
        raise BadRequest(f"The range ends ({days.end}) before it starts ({days.start}). Swap them.")
    if days.start.year < FIRST_YEAR or days.end.year > LAST_YEAR:
        raise BadRequest(f"Days are between {FIRST_YEAR} and {LAST_YEAR}; got {days.start} to {days.end}.")
