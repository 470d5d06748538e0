"""What Oura has at this moment, by collection and the record's own day. Knows nothing of requests.

Finished days are kept once made; recent ones are made anew, because they still grow.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import date, timedelta

from app.simulator.heart import NOTHING, Heart, Samples, battery_rows, heartrate_rows
from app.simulator.mornings import Mornings
from app.simulator.movement import Movement
from app.simulator.nights import Nights
from app.simulator.person import FIRST_DAY
from app.simulator.rings import personal_info, ring_configuration
from app.simulator.tags import Tags
from app.simulator.world import DATED, Dated, Record, World, day_of_ident

_SETTLED_AFTER_S = 36 * 3600  # nothing of a day is still growing then
_KEPT = 6_000  # collection-days; a year of everything is 5,500
_KEPT_SAMPLES = 800  # days, about 30 kB each


class Archive:
    """Every record that exists, lazily."""

    def __init__(self, world: World) -> None:
        self.world = world
        nights = Nights(world)
        mornings, movement, tags = Mornings(world, nights), Movement(world), Tags(world)
        heart = Heart(world, nights)
        self._make: dict[str, Callable[[date], list[Dated]]] = {
            "daily_activity": movement.daily_activity,
            "daily_cardiovascular_age": mornings.daily_cardiovascular_age,
            "daily_readiness": mornings.daily_readiness,
            "daily_resilience": mornings.daily_resilience,
            "daily_sleep": mornings.daily_sleep,
            "daily_spo2": mornings.daily_spo2,
            "daily_stress": movement.daily_stress,
            "enhanced_tag": tags.enhanced_tag,
            "rest_mode_period": tags.rest_mode_period,
            "session": movement.session,
            "sleep": lambda day: list(nights.filed(day)),
            "sleep_time": mornings.sleep_time,
            "tag": tags.tag,
            "vO2_max": mornings.vo2_max,
            "workout": movement.workout,
        }
        self._sample: dict[str, Callable[[date], Samples]] = {
            "heartrate": heart.heartrate,
            "ring_battery_level": heart.ring_battery_level,
        }
        self._rest_mode_days = tags.rest_mode_days
        self._kept: OrderedDict[tuple[str, date], list[Record]] = OrderedDict()
        self._kept_samples: OrderedDict[tuple[str, date], Samples] = OrderedDict()
        self._planted: dict[tuple[str, date], list[Record]] = {}
        self._withheld: set[tuple[str, date]] = set()

    def plant(self, collection: str, day: date, *records: Record) -> None:
        """Add records to a day of a document collection; with `withhold`, they replace it."""
        self._planted.setdefault((collection, day), []).extend(records)

    def withhold(self, collection: str, day: date) -> None:
        """Let a day have no records of its own (what was planted stays)."""
        self._withheld.add((collection, day))

    def restore(self, collection: str, day: date) -> None:
        """Undo `plant` and `withhold` for a day."""
        self._planted.pop((collection, day), None)
        self._withheld.discard((collection, day))

    def filed(self, collection: str, day: date) -> list[Record]:
        """Return what is filed under a day. Shared objects: read them, do not change them."""
        key = (collection, day)
        own = [] if key in self._withheld else self._own(key)
        return own + self._planted.get(key, [])

    def between(self, collection: str, first: date, last: date) -> list[Record]:
        """Return what is filed under the days of an inclusive range, oldest day first."""
        if collection == "rest_mode_period":  # few and long: no need to walk through every day
            days = {day for day in self._rest_mode_days() if first <= day <= last}
            days |= {day for name, day in self._planted if name == collection and first <= day <= last}
            return [record for day in sorted(days) for record in self.filed(collection, day)]
        planted = [day for name, day in self._planted if name == collection and day < FIRST_DAY]
        first = max(first, min(planted, default=FIRST_DAY))
        last = min(last, self.world.where.day_of(self.world.horizon()) + timedelta(days=1))
        days_in = range(first.toordinal(), last.toordinal() + 1)
        return [record for ordinal in days_in for record in self.filed(collection, date.fromordinal(ordinal))]

    def samples(self, collection: str, day: date) -> Samples:
        """Return a local day's samples, also those still to come; see `recorded`."""
        key = (collection, day)
        if key in self._withheld:
            return NOTHING
        kept = self._kept_samples.get(key)
        if kept is None:
            kept = self._kept_samples[key] = self._sample[collection](day)
            if len(self._kept_samples) > _KEPT_SAMPLES:
                self._kept_samples.popitem(last=False)
        return kept

    def rows(self, collection: str, samples: Samples, first: int, last: int) -> list[Record]:
        """Write samples as rows."""
        return (heartrate_rows if collection == "heartrate" else battery_rows)(samples, first, last)

    def document(self, collection: str, ident: str) -> Record | None:
        """Return the record with an id; None when there is none."""
        if collection == "ring_configuration":
            return next((ring for ring in self.rings() if ring["id"] == ident), None)
        days = [day for name, day in self._planted if name == collection]
        if (day := day_of_ident(ident)) is not None and collection in DATED:
            days.append(day)
        return next((one for day in days for one in self.filed(collection, day) if one["id"] == ident), None)

    def rings(self) -> list[Record]:
        """Return the rings set up so far, oldest first."""
        now = self.world.horizon()
        return [one.record for one in ring_configuration(self.world) if one.since <= now]

    def personal_info(self, scopes: frozenset[str]) -> Record:
        """Return the profile as far as the scopes go."""
        return personal_info(self.world, scopes)

    def _own(self, key: tuple[str, date]) -> list[Record]:
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        collection, day = key
        now = self.world.horizon()
        if day < FIRST_DAY or self.world.where.span(day)[0] > now + 86_400:
            return []
        records = [one.record for one in self._make[collection](day) if one.since <= now]
        if self.world.where.span(day)[1] + _SETTLED_AFTER_S < now:
            self._kept[key] = records
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return records
