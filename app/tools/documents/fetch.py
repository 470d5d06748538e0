"""`fetch`: one document by its id, in the exact form that ChatGPT asks for outside its developer mode.

A document is the page of a collection, the page of a day, or the page about the connector. Its address is a page of
this server that says nothing about the document: no data, no date, no token.

Source: OpenAI, "Building MCP servers for ChatGPT": fetch(id) → id, title, text, url, metadata.
"""

import re
from datetime import date, timedelta
from typing import Final

from app.errors import BadRequest
from app.sources.base import Collection, Source
from app.sources.days import day_in
from app.tools.about.reference import ABOUT, collection_page
from app.tools.arguments import Argument, Given, quoted
from app.tools.calling import Call, Definition
from app.tools.caveats.circumstances import NIGHT_CLOCK
from app.tools.dates.clocks import stamps
from app.tools.dates.owners import counted_by_clock, may_be_near, owners
from app.tools.dates.spans import moment
from app.tools.dates.zones import Here, here
from app.tools.documents.day_asking import ahead, sections
from app.tools.documents.day_page import SLEEP, Section, page
from app.tools.rendering import Answer, written

_DAY: Final = timedelta(days=1)
ABOUT_ID: Final = "about"
ABOUT_TITLE: Final = "How to read this data: days, units, scores, what missing means"
_ID = re.compile(r"(?:about|collection:[A-Za-z0-9_]{1,40}\.[A-Za-z0-9_]{1,60}|day:[0-9]{4}-[0-9]{2}-[0-9]{2})")


def _read_id(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text, not {quoted(value)}.")
    if not _ID.fullmatch(value.strip()):
        raise BadRequest(
            f"{name}={quoted(value)} is not an id of this connector. Take one from search: they look like "
            "collection:oura.sleep, day:2026-03-10 or about."
        )
    return value.strip()


ID = Argument(
    "id", {"type": "string", "description": "An id from search.", "examples": ["day:2026-03-10"]}, _read_id, "", True
)


def collection_id(collection: Collection) -> str:
    """`collection:oura.sleep`."""
    return f"collection:{collection.qualified}"


def collection_title(collection: Collection) -> str:
    """Name it, and say what it carries."""
    return f"{collection.qualified}: {collection.carries}"


def day_id(day: date) -> str:
    """`day:2026-03-10`."""
    return f"day:{day.isoformat()}"


def day_title(day: date, today: date, where: str | None = None) -> str:
    """Name the day, and what a page of it has.

    Args:
        day: The page's.
        today: The owner's; if `where` is given, that of there.
        where: The zone of that today, where it is not known whether the owner lives by it now.
    """
    words = {0: "today and last night", 1: "yesterday"}
    if where is not None:
        words = {back: f"{word} in {where}" for back, word in words.items()}
        words[-1] = f"tomorrow in {where}, today and last night where it has begun"
    near = words.get((today - day).days)
    return f"{day.isoformat()} ({day:%A}{f', {near}' if near else ''}): sleep, readiness, activity and more"


def address(call: Call) -> str:
    """Return where a person can look at the connector; the same for every document."""
    return f"{call.service.public_url}/connections"


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    kind, _, name = given[ID].partition(":")
    if kind == "day":
        return await _day(call, name)
    if kind == "collection":
        source, collection = call.service.sources.find(name)
        metadata = {"kind": "collection", "filed_by": str(collection.date_kind), "source": source.name}
        return _document(
            call, collection_id(collection), collection_title(collection), collection_page(collection), metadata
        )
    return _document(call, ABOUT_ID, ABOUT_TITLE, ABOUT, {"kind": "guide"})


async def _day(call: Call, name: str) -> Answer:
    source = next(iter(call.service.sources))
    place = await here(call, source, None)
    day = moment("id", name, today=place.today, zone=place.zone).first
    synthetic = any(source.synthetic for source in call.service.sources)
    place = await _by_the_owners_clock(call, source, place, day)
    found = ahead(call) if day > place.today and not _begun(place, day) else await sections(call, place, day)
    whole = _written_day(call, place, day, found, synthetic=synthetic)
    for keep in range(len(found) - 1, -1, -1):
        if len(written(whole)) <= call.service.answer_max_chars:
            break
        shorter = [*found[:keep], *(_cut(section) for section in found[keep:])]
        whole = _written_day(call, place, day, shorter, synthetic=synthetic)
    return whole


async def _by_the_owners_clock(call: Call, source: Source, place: Here, day: date) -> Here:
    """Return the place as the page of a day goes by it: near today by the owner's own clock, which is asked for."""
    nights = source.collections.get(SLEEP)
    if nights is None or not may_be_near(day, place) or day > max(place.latest, place.today + _DAY):
        return place
    known = await owners(call, source, nights, place, nameable=False)
    return counted_by_clock(known) if day >= known.today - _DAY else known


def _begun(place: Here, day: date) -> bool:
    """Whether a day that lies ahead has sleep already: a nap of this evening, or a night that is going on."""
    return place.nights is not None and any(day_in(one.get("day")) == day for one in place.nights.records)


def _cut(section: Section) -> Section:
    return section if section.text is None else Section(section.collection, None, "left_out", records=section.records)


def _written_day(call: Call, place: Here, day: date, found: list[Section], *, synthetic: bool) -> Answer:
    heading = [
        f"# {day.isoformat()}, {day:%A}",
        f"Days are the owner's, {'at' if place.away_from else 'in'} {place.zone.key}; the night is the one that ",
    ]
    heading[1] += "ended on this day. Durations are in seconds. A score is a grade from 1 to 100, not a measurement."
    if day == place.today:
        heading.append("This day is today and not over: activity, heart rate and stress are those so far.")
    if any(section.missing == "left_out" for section in found):
        heading.append("Not all of it fits into one answer: what is left out is named under Missing.")
    if synthetic:
        heading.append("This is sample data, not the owner's.")
    heading += [*_journey(found, place), *place.notes, *_another_page(place, day)]
    missing = {name: word for section in found for name, word in section.absent.items()}
    metadata = {
        "kind": "day",
        "day": day.isoformat(),
        "timezone": place.zone.key,
        "complete": "false" if {"incomplete", "not_read", "left_out"} & set(missing.values()) else "true",
        "missing": ", ".join(f"{name}: {word}" for name, word in missing.items()),
    }
    if unfinished := [f"{section.collection}: {section.partial}" for section in found if section.partial]:
        metadata["partial"] = "; ".join(unfinished)
    if synthetic:
        metadata["synthetic"] = "true"
    return _document(call, day_id(day), day_title(day, place.today), page(heading, found), metadata)


def _another_page(place: Here, day: date) -> list[str]:
    """Name the page of the owner's today, which on a journey may not be the one that it was taken for."""
    if place.clock is None or day == place.today:
        return []
    return [f"This day is not the owner's today: today and last night are on the page {day_id(place.today)}."]


def _journey(found: list[Section], place: Here) -> list[str]:
    """Say that the owner's clock was not that of the page, where the nights of the day tell so."""
    nights = [record for section in found if section.collection.endswith(f".{SLEEP}") for record in section.records]
    known = [at for _, at in stamps(nights, NIGHT_CLOCK)]
    away = {at.isoformat()[-6:] for at in known if at.utcoffset() != at.astimezone(place.zone).utcoffset()}
    if not away:
        return []
    if place.guessed:
        return [f"The owner's clock was at {' and '.join(sorted(away))}; heart rate is counted to the day of UTC."]
    always = all(at.utcoffset() != at.astimezone(place.zone).utcoffset() for at in known)
    when = "The" if always else "At one end of a sleep of this page the"
    return [
        f"{when} owner's clock was at {' and '.join(sorted(away))}, not that of {place.zone.key}, as on a journey. "
        f"Heart rate is counted to the day of {place.zone.key} all the same."
    ]


def _document(call: Call, identifier: str, title: str, text: str, metadata: dict[str, str]) -> Answer:
    return {"id": identifier, "title": title, "text": text, "url": address(call), "metadata": metadata}


FETCH = Definition(
    name="fetch",
    title="Read one page",
    description=(
        "Return a page by its id from search. A day's page has everything recorded for that day, with units, and names "
        "what is missing: missing is unknown, never zero. A collection's page says what its fields mean, without data."
    ),
    arguments=(ID,),
    run=run,
)
