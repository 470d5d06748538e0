"""What a source is: its collections, the question put to one, and what came back."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Protocol
from zoneinfo import ZoneInfo

from app.identity import Caller

Record = dict[str, object]  # one document, as the source sent it: unknown fields and values pass through untouched
Progress = Callable[[int, int | None, str], Awaitable[None]]  # pages so far, pages expected if known, a few words


class Kind(StrEnum):
    """What a field's number or text means, so that a score is never read as a measurement."""

    SCORE = "score"  # 1-100, no unit
    MEASUREMENT = "measurement"  # a quantity with a unit
    CATEGORY = "category"  # one of a few words
    SERIES = "series"  # samples over time inside the record
    TEXT = "text"  # the owner's own words
    TIME = "time"  # an instant or a day
    ID = "id"


class DateKind(StrEnum):
    """How a collection is filed under days."""

    WAKE_DAY = "wake day"  # a night belongs to the day one wakes up on
    ACTIVITY_DAY = "activity day, 04:00 to 04:00, named after its first date"
    CALENDAR_DAY = "calendar day"
    START_DAY = "start day"
    SPAN = "every day from start to end"  # tags and rest periods
    INSTANT = "instant, counted to the day of the answer's timezone"  # heart rate, battery
    UNDATED = "no day"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record; nested ones are dotted (`contributors.deep_sleep`)."""

    name: str
    kind: Kind
    unit: str | None  # "s", "ms (RMSSD)", "bpm", "kcal", "m", "°C deviation" …; None: no unit
    meaning: str
    values: tuple[str, ...] = ()  # known values of a category; others may appear


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind of record at a source."""

    source: str  # "oura"
    name: str  # "daily_sleep"
    carries: str  # one sentence
    date_kind: DateKind
    scope: str | None  # the source's scope that unlocks it; None: any sign-in
    fields: tuple[Field, ...]
    dense: bool = False  # a stream of samples: asked by instants, can be bucketed
    takes_fields: bool = True  # the source itself can leave fields out
    series: tuple[str, ...] = ()  # top-level fields left out at detail=summary
    read_with: tuple[str, ...] = ()  # go out whatever fields are asked for: without them the others are misread
    day_fields: tuple[str, ...] = ("day",)  # where the record's own day stands, in order of trying
    window_days: int | None = None  # the longest range one request may span
    margin_days: int = 0  # asked on both sides and dropped again, because the source shifts days
    notes: tuple[str, ...] = ()  # what a reader must know to read it right
    recent_notes: tuple[str, ...] = ()  # the same, as far as it bears on the last few days alone
    grows: bool = False  # through the day, so that what is there of today is never all of it
    covered_by: tuple[str, ...] = ()  # seconds that together are as long as what was recorded of the day
    value_field: str | None = None  # what the record is for; null: nothing could be said of that day
    also_scopes: frozenset[str] = frozenset()  # any of these unlocks it as well as `scope`
    stamp_fields: tuple[str, ...] = ()  # where the record's instant stands, for the order inside a day
    end_day_field: str | None = None  # SPAN only: where its last day stands; null: `open_ended` decides
    open_ended: bool = False  # SPAN only: without an end it is still going on, else it was a single day
    lookback_days: int = 0  # SPAN only: asked further back than the margin, since a span may have begun long ago
    clock_field: str | None = None  # an instant with the offset of the wearer's own clock
    clock_end_field: str | None = None  # the same at the record's end, which may be elsewhere
    entered: bool = False  # by the owner's hand, so wear and sync of the ring say nothing about what is missing
    occasional: bool = False  # has no record on most days, so that a day without one is no gap
    not_on: tuple[str, ...] = ()  # hardware generations of the ring that cannot measure it
    stride_days: int | None = None  # dense only: days worth one request of their own, so that several run side by side

    @property
    def qualified(self) -> str:
        """`oura.daily_sleep`."""
        return f"{self.source}.{self.name}"

    def granted_by(self, scopes: frozenset[str] | None) -> bool | None:
        """Whether these scopes of the source unlock it; None when the source did not say which it gave."""
        if self.scope is None:
            return True
        if scopes is None:
            return None
        return self.scope in scopes or bool(self.also_scopes & scopes)


@dataclass(frozen=True, slots=True)
class DateRange:
    """Local days, both included, in the owner's zone."""

    start: date
    end: date
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a question brought, with everything needed to say how complete it is."""

    records: tuple[Record, ...]  # de-duplicated, sorted by day and time, only those inside the range
    pages: int
    complete: bool
    trimmed: int = 0  # records asked for as margin and dropped
    pagination_cycle: bool = False
    rate_limited: bool = False  # a 429 was met and waited out, or ended a window
    failures: tuple[str, ...] = ()  # one sentence for each window that did not arrive
    whole_until: date | None = None  # not complete: the last day up to which everything arrived; before the start: none


class Gathering(Protocol):
    """Samples of one question that are put together as they arrive, so that they are never all held at once."""

    def add(self, records: Sequence[Record]) -> None:
        """Take some more, each sample once, in any order. Called in a worker thread, one call at a time."""

    def records(self) -> tuple[Record, ...]:
        """Return what stands for all that were taken, oldest first."""


class Digest(Protocol):
    """How samples are put together. Equal digests make of equal samples the same, and are hashed alike."""

    def begin(self) -> Gathering:
        """Begin one question."""


class Source(Protocol):
    """One place data comes from, as the tools see it."""

    @property
    def name(self) -> str:
        """`oura`."""

    @property
    def synthetic(self) -> bool:
        """True when everything it gives is sample data."""

    @property
    def collections(self) -> Mapping[str, Collection]:
        """Its collections by bare name."""

    def end(self) -> None:
        """Know that the process is about to end: questions answer within seconds, with what has arrived."""

    async def granted(self, caller: Caller) -> frozenset[str] | None:
        """Return the scopes the owner gave us at the source; None when the source did not say."""

    async def timezone(self, caller: Caller) -> ZoneInfo | None:
        """Return the owner's zone as known from the sign-in; None when unknown."""

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
        """Bring every record of the range.

        Args:
            caller: Who asks, and so whose credential is used.
            collection: One of `collections`.
            days: The range; None for a collection without days and for `latest`.
            fields: Top-level fields wanted; empty for all. What the source cannot leave out is left out here.
            latest: Only the newest record (dense collections only).
            progress: Told after each page.
            digest: Makes of the samples what is brought instead of them (dense collections with days only).
            within_s: After so many seconds what has arrived is the answer, not complete; None leaves it to the source.

        Raises:
            NotPermitted: The source's scope is missing; no request was made if that was known before.
            ReconnectRequired, MembershipRequired, SourceError, StoreUnavailable: As named.
        """

    async def health(self, caller: Caller) -> Mapping[str, object]:
        """Return facts about the owner's credential, without a call to the source and never a token.

        Returns:
            `credential` ("oauth" or "sandbox") and `state` ("live", "ended" or "none"); for a live or ended one also
            `ended_why`, `scopes_granted`, `scopes_missing` (None: the source did not say), `access_token_age_s`,
            `access_token_expires_in_s`, `access_token_length` (live only), `last_renewed` (UTC, ISO 8601), `timezone`;
            and what is wrong, each only if it is: `renewal_failed` ("misconfigured", "not_sent", "unknown", "running":
            cut off) with `renewal_failed_at`; as this process met it `token_refused`, `source_down` (in words),
            `refused_403` (collections) with `refused_403_at`.
        """
