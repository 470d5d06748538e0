"""Wherever the owner lives and is, whenever they ask and whatever was synced: last night is last night, or missing."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import anyio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.sources.base import Record
from app.zones import known_zones
from tests.tools.fakes import Connector, FakeSource

DAY: Final = timedelta(days=1)
NEAR: Final = timedelta(days=3)  # a night that is older tells no clock
EDGES: Final = (
    "Etc/GMT+12",
    "Pacific/Pago_Pago",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Tokyo",
    "Pacific/Kiritimati",
)
ZONES: Final = st.sampled_from(EDGES) | st.sampled_from(sorted(known_zones()))
LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)
WHOLE: Final = ("night", "night and nap", "two nights")
KINDS: Final = st.sampled_from((*WHOLE, "nothing", "nap", "rest"))


@dataclass
class Life:
    """Ten days of somebody, the last of them at a place."""

    home: ZoneInfo
    place: ZoneInfo
    now: datetime
    named: ZoneInfo | None = None  # by the question
    records: list[Record] = field(default_factory=list)
    left_home: datetime = LONG_AGO  # the end of the last sleep there

    def slept(self, kind: str, day: date, ended: datetime, hours: int, zone: ZoneInfo) -> None:
        """Put down a stretch of sleep, if it is over."""
        begun = ended.astimezone(UTC) - timedelta(hours=hours)
        if ended > self.now or (zone is self.place and begun < self.left_home):
            return
        if zone is not self.place:
            self.left_home = max(self.left_home, ended)
        self.records.append({
            "id": f"{kind} {ended}",
            "day": str(day),
            "type": kind,
            "bedtime_start": begun.astimezone(zone).isoformat(),
            "bedtime_end": ended.isoformat(),
            "total_sleep_duration": hours * 3000,
            "time_in_bed": hours * 3600,
        })  # fmt: skip

    def going_on(self, hours: int) -> None:
        """Put down a night that is not over."""
        begun = self.now.astimezone(self.place) - timedelta(hours=hours)
        day = (begun + timedelta(hours=8)).date()
        self.records.append(
            {
                "id": "now",
                "day": str(day),
                "type": "long_sleep",
                "bedtime_start": begun.isoformat(),
                "bedtime_end": None,
            }
        )

    def clock(self) -> datetime:
        """Return now in the zone named, else by the newest time that a record carries, if it is near, else at home."""
        if self.named is not None:
            return self.now.astimezone(self.named)
        times = [record[name] for record in self.records for name in ("bedtime_start", "bedtime_end")]
        newest = max((datetime.fromisoformat(str(time)) for time in times if time), default=None)
        if newest is None or self.now - newest > NEAR or newest.utcoffset() == newest.astimezone(self.home).utcoffset():
            return self.now.astimezone(self.home)
        return self.now.astimezone(newest.tzinfo)

    def nights(self) -> dict[date, Record]:
        """Return the longest night of each day that is over."""
        found: dict[date, Record] = {}
        for record in self.records:
            if record["type"] == "long_sleep" and record["bedtime_end"]:
                day = date.fromisoformat(str(record["day"]))
                found[day] = max(found.get(day, record), record, key=lambda one: int(str(one["total_sleep_duration"])))
        return found


@st.composite
def lives(draw: st.DrawFn) -> Life:
    home, place = ZoneInfo(draw(ZONES)), ZoneInfo(draw(ZONES))
    day, zone = draw(st.dates(date(2025, 1, 12), date(2026, 12, 20))), draw(st.sampled_from((home, place)))
    about = draw(st.integers(-90, 90) | st.integers(0, 24 * 60))  # minutes from midnight, where days part
    life = Life(
        home, place, (datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(minutes=about)).astimezone(UTC)
    )
    now = life.now
    today, stayed = now.astimezone(life.place).date(), draw(st.integers(1, 10))
    for back in range(9, -1, -1):
        zone = life.place if back < stayed else life.home
        day, kind = today - back * DAY, draw(KINDS)
        hours, wakes = draw(st.integers(4, 9)), draw(st.integers(0, 23))
        ended = datetime(day.year, day.month, day.day, wakes, draw(st.integers(0, 59)), tzinfo=zone)
        if kind in WHOLE:
            life.slept("long_sleep", day, ended, hours, zone)
        if kind == "two nights":
            life.slept("long_sleep", day, ended - timedelta(hours=hours + 1), 3, zone)
        if kind in ("nap", "night and nap"):
            life.slept("late_nap", day, ended + timedelta(minutes=10), 1, zone)
        if kind == "rest":
            life.slept("rest", day, ended, 1, zone)
    if draw(st.booleans()):
        evening = datetime(today.year, today.month, today.day, 20, tzinfo=life.place)
        life.slept("late_nap", today + DAY, evening, 1, life.place)  # as Oura files it
    if draw(st.integers(0, 3)) == 0:
        life.named = ZoneInfo(draw(ZONES))
    if draw(st.integers(0, 3)) == 0:
        life.going_on(draw(st.integers(1, 7)))
    return life


async def asked(life: Life, days: int) -> tuple[dict[str, Any], ...]:
    scores: list[Record] = [{"id": str(day), "day": str(day), "score": 80} for day in life.nights()]
    records = {"sleep": life.records, "daily_sleep": scores, "daily_readiness": scores}
    vitals = Connector(FakeSource(records, zone=life.home), now=life.now)
    named = {"timezone": life.named.key} if life.named else {}
    with anyio.fail_after(20):
        return (
            await vitals.ask("health_today", days=days, **named),
            await vitals.ask("health_query", collection="sleep", day="last night", **named),
            await vitals.ask("health_query", collection="heartrate", day="last night", **named),
        )


def three_days_ago_far_west() -> Life:
    """What was found once: by the zone that night is of four days ago, and still tells the clock."""
    life = Life(ZoneInfo("UTC"), ZoneInfo("Etc/GMT+12"), datetime(2025, 1, 12, tzinfo=UTC))
    life.slept("long_sleep", date(2025, 1, 8), datetime(2025, 1, 8, 12, tzinfo=life.place), 4, life.place)
    return life


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@example(life=three_days_ago_far_west(), days=0)
@given(life=lives(), days=st.sampled_from((0, 1, 7)))
def test_last_night_is_the_night_that_the_owner_woke_from_today_or_is_missing_with_a_word(
    life: Life, days: int
) -> None:
    today, query, heart = anyio.run(asked, life, days)

    now = life.clock()
    day, nights = now.date(), life.nights()
    assert (today["today"], today["now"]) == (str(day), now.isoformat(timespec="minutes"))
    assert (query["start"], query["end"]) == (str(day), str(day))
    main = today.get("last_night", {}).get("main")
    if (night := nights.get(day)) is not None:
        assert main["bedtime_end"] == night["bedtime_end"]
        assert today["last_night"]["wake_day"] == str(day)
        assert "last_night" not in today.get("missing", {})
    else:
        assert main is None
        assert today["missing"]["last_night"]
    over = [one for one in query["data"] if one["type"] == "long_sleep" and one["bedtime_end"]]
    assert max((one["total_sleep_duration"] for one in over), default=None) == (
        night["total_sleep_duration"] if night else None
    )
    assert query["n"] or query["empty"]["reasons"]
    since, until = (datetime.fromisoformat(heart[name]) for name in ("start", "end"))
    if night is not None:
        assert since <= datetime.fromisoformat(str(night["bedtime_start"]))
        assert until >= datetime.fromisoformat(str(night["bedtime_end"]))
    else:
        assert (since.astimezone(now.tzinfo).date(), until.astimezone(now.tzinfo).date()) == (day - DAY, day)
    newest = max((one for one in nights if one <= day), default=None)
    ages = today["newest_record_age"]
    assert ages["sleep"] == (newest and {"day": str(newest), "days_ago": (day - newest).days})
    assert all(age is None or age["days_ago"] >= 0 for age in ages.values())
