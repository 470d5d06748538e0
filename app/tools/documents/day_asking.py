"""Asks for one day of everything that is filed by day, and once for the reasons of what is not there."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

import anyio

from app.errors import MembershipRequired, NotPermitted, SourceError, VitalsError
from app.sources.base import Collection, DateKind, DateRange, Progress, Source
from app.tools.calling import Call
from app.tools.caveats.absence import ENTERED, OCCASIONAL, unread
from app.tools.caveats.circumstances import SAMPLES, Beside, beside, clockless, without_score
from app.tools.caveats.evidence import IN_FUTURE, INCOMPLETE, NO_NIGHT, NO_RECORD, RECENT, refused
from app.tools.caveats.inquiry import Known, gather
from app.tools.caveats.partial import partial
from app.tools.dates.clocks import stamps
from app.tools.dates.zones import Here
from app.tools.documents.day_page import SLEEP, Section, section_text
from app.tools.progress import Together
from app.tools.records.nights import night
from app.tools.records.placing import by_day
from app.tools.records.shaping import Shape

LEFT_OUT = frozenset({"tag", "ring_battery_level"})  # old notes that enhanced_tag has too; nothing about the owner
_DAY: Final = timedelta(days=1)
_NIGHT: Final = "main_sleep"
_AT_ONCE = 4  # collections asked side by side, each of which may ask several windows
_BEARABLE = (NotPermitted, MembershipRequired, SourceError)  # the other collections may still be there


async def sections(call: Call, place: Here, day: date) -> list[Section]:
    """Ask every collection that is filed by day.

    Raises:
        NotPermitted, MembershipRequired, SourceError: Nothing at all could be read; the first reason.
        ReconnectRequired, StoreUnavailable: As named.
    """
    wanted = [(source, c) for source in call.service.sources for c in source.collections.values() if _on_the_page(c)]
    found: dict[str, Section] = {}
    failures: list[VitalsError] = []
    told = Together(call.progress)
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def ask(source: Source, collection: Collection, progress: Progress) -> None:
        async with limit:
            try:
                found[collection.qualified] = await _section(call, source, collection, place, day, progress)
            except VitalsError as failure:  # collected: a task group would raise it inside a group of exceptions
                failures.append(failure)
                found[collection.qualified] = Section(collection.qualified, None, refused(failure), str(failure))

    besides: dict[str, Beside] = {}  # by source: the newest sample and the nights, which tell how far its day is there
    async with anyio.create_task_group() as group:
        for source in call.service.sources:
            group.start_soon(_ask_beside, call, source, place, day, besides)
        for source, collection in wanted:
            group.start_soon(ask, source, collection, told.part())
    grave = [failure for failure in failures if not isinstance(failure, _BEARABLE)]
    if grave or (failures and len(failures) == len(wanted)):
        raise (grave or failures)[0]
    for source in call.service.sources:
        await _give_reasons(call, source, place, day, found, besides.get(source.name, Beside()).newest)
    return [
        _with_how_far(found[collection.qualified], source, collection, place, day, besides.get(source.name, Beside()))
        for source, collection in wanted
    ]


async def _ask_beside(call: Call, source: Source, place: Here, day: date, besides: dict[str, Beside]) -> None:
    asker = next((one for one in source.collections.values() if clockless(one)), source.collections.get(SAMPLES))
    if asker is not None:
        days = DateRange(day, day, place.zone)
        besides[source.name] = await beside(call.caller, source, asker, days, today=place.today, nights=place.nights)


def _with_how_far(
    section: Section, source: Source, collection: Collection, place: Here, day: date, around: Beside
) -> Section:
    """Return the section with how far its day is there, if it is not whole."""
    if section.text is None or source.synthetic:
        return section
    zone = place.zone if collection.dense else place.own  # like today itself, and what it is compared with
    found = partial(
        collection,
        section.records,
        DateRange(day, day, zone),
        today=place.today,
        newest=around.newest,
        nights=around.nights or (),
    )
    return replace(section, partial=next(iter(found.values()), None))


async def _give_reasons(
    call: Call, source: Source, place: Here, day: date, found: dict[str, Section], newest: datetime | None
) -> None:
    """Look once for why a day has no record, or no night, and write it into every section that has none."""
    missing = [
        collection
        for collection in source.collections.values()
        if (section := found.get(collection.qualified))
        and (section.missing == NO_RECORD or section.lacks.get(_NIGHT) == NO_NIGHT)
        and not collection.entered
    ]
    if not missing:
        return
    # One look serves all; it goes farthest for one that some rings cannot measure and that is no witness itself.
    asker = max(missing, key=lambda collection: (bool(collection.not_on), collection.date_kind is DateKind.WAKE_DAY))
    sleep = found.get(f"{source.name}.{SLEEP}")
    known = Known(newest=newest)
    around = place.nights.of(day - _DAY, day + _DAY) if place.nights else None
    if sleep is not None and sleep.records:
        known.nights = {day: sleep.records}
        known.stamps = [at for _, at in stamps(sleep.records, source.collections[SLEEP])]
    elif around is not None:
        known.nights = by_day(around, source.collections[SLEEP], place.zone)
        known.stamps = [at for _, at in stamps(around, source.collections[SLEEP])]
    now = datetime.fromtimestamp(call.service.now(), tz=UTC)
    evidence = await gather(call.caller, source, asker, [day], here=place, now=now, known=known)
    for collection in missing:
        word, why = evidence.why(collection, day)
        if (section := found[collection.qualified]).lacks.get(_NIGHT) == NO_NIGHT:
            lacks = {_NIGHT: NO_NIGHT if word == NO_RECORD else word}
            found[collection.qualified] = replace(section, lacks=lacks, why=why)
            continue
        told = " ".join(
            [
                *([OCCASIONAL] if collection.occasional and word == NO_RECORD else []),
                *([why] if why else []),
                *(unread(collection, evidence) if word == NO_RECORD else []),
            ]
        )
        found[collection.qualified] = Section(collection.qualified, None, word, told or None)


def ahead(call: Call) -> list[Section]:
    """Return the sections of a day that lies ahead, without asking."""
    collections = (c for source in call.service.sources for c in source.collections.values())
    return [Section(c.qualified, None, IN_FUTURE) for c in collections if _on_the_page(c)]


def _on_the_page(collection: Collection) -> bool:
    return collection.date_kind is not DateKind.UNDATED and collection.name not in LEFT_OUT


async def _section(
    call: Call, source: Source, collection: Collection, place: Here, day: date, progress: Progress
) -> Section:
    shape = Shape(collection, place.zone, resolution="day" if collection.dense else "raw")
    days = DateRange(day, day, place.zone)
    fetched = await source.fetch(call.caller, collection, days, fields=shape.at_source, progress=progress)
    if not fetched.records and fetched.complete:
        return Section(collection.qualified, None, NO_RECORD, ENTERED if collection.entered else None)
    if not fetched.records:
        return Section(collection.qualified, None, INCOMPLETE)
    text = section_text(shape, fetched.records, day, whole=fetched.complete)
    scoreless = next(iter(without_score(fetched.records, collection, today=place.today, asked=())), None)
    lacks = {collection.value_field: scoreless} if collection.value_field and scoreless else {}
    if collection.name == SLEEP and fetched.complete and (sorted_out := night(fetched.records)).main is None:
        lacks = {_NIGHT: "in_progress" if sorted_out.in_progress else NO_NIGHT}
    return Section(
        collection.qualified,
        text,
        None if fetched.complete else INCOMPLETE,
        lacks=lacks,
        records=fetched.records,
        recent=collection.recent_notes if day >= place.today - RECENT else (),
    )
