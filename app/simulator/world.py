"""What every generator of records shares: the person, the plans, the clock's limit, document ids."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import blake2b
from typing import Any

from app.simulator.person import Person, Whereabouts
from app.simulator.plan import Plan, Planner

Record = dict[str, Any]  # one document or sample, exactly as it is sent
DATED = (
    "daily_activity",
    "daily_cardiovascular_age",
    "daily_readiness",
    "daily_resilience",
    "daily_sleep",
    "daily_spo2",
    "daily_stress",
    "enhanced_tag",
    "rest_mode_period",
    "session",
    "sleep",
    "sleep_time",
    "tag",
    "vO2_max",
    "workout",
)
DENSE = ("heartrate", "ring_battery_level")
COLLECTIONS = (*DATED, *DENSE, "ring_configuration", "personal_info")
_DAY_MASK = 0x00C0FFEE  # ids shall not read as dates


@dataclass(frozen=True, slots=True)
class Canary:
    """Values that occur nowhere else, planted to find where readings end up.

    Attributes:
        text: The comment of a tag each day, and the label of each workout.
        number: The steps of each day, and each local day's first heart rate.
    """

    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Dated:
    """A record with the instant from which Oura has it, unix seconds."""

    since: float
    record: Record


class World:
    """The person's life, planned; and up to when it has been recorded."""

    def __init__(self, person: Person, seed: int, horizon: Callable[[], float], canary: Canary | None) -> None:
        self.person = person
        self.seed = seed
        self.horizon = horizon
        self.canary = canary
        self.where = Whereabouts(person)
        self.planner = Planner(person, seed, self.where)
        self.rng = self.planner.rng

    def plan(self, day: date) -> Plan:
        """Return what the person did that day."""
        return self.planner.plan(day)

    def ident(self, collection: str, day: date, index: int = 0) -> str:
        """Return a document's id: looks random, and leads back to its day."""
        tail = blake2b(f"{self.seed}/{collection}/{day}/{index}".encode(), digest_size=10).hexdigest()
        head = f"{day.toordinal() ^ _DAY_MASK:08x}"
        return f"{head}-{tail[:4]}-4{tail[4:7]}-8{tail[7:10]}-{tail[8:20]}"

    def stamp(self, instant_s: float) -> str:
        """Write an instant as Oura does: the wearer's clock with its offset."""
        return self.where.local(instant_s).isoformat()


def day_of_ident(ident: str) -> date | None:
    """Return the day an id leads back to; None for one that was never given out."""
    try:
        return date.fromordinal(int(ident[:8], 16) ^ _DAY_MASK)
    except (ValueError, OverflowError):
        return None


def utc(instant_s: float) -> str:
    """Write an instant in UTC, as heart rate and battery have it."""
    return datetime.fromtimestamp(instant_s, UTC).isoformat()


def clamp(value: float, low: int = 1, high: int = 100) -> int:
    """Round into the range of a score."""
    return max(low, min(high, round(value)))
