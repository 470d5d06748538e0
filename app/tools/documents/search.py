"""`search`: which pages answer a question, in the exact form that ChatGPT asks for outside its developer mode.

It looks in the catalogue and in the calendar, not in the owner's data: nothing is asked of the source. So it cannot
know by which clock the owner lives now. Titles say by which zone a day is today, and words such as `last night` also
find the day that they mean where it is another day, as it may be for an owner on a journey; the page itself knows.

Source: OpenAI, "Building MCP servers for ChatGPT": search(query) → results, each with id, title, url.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta

from app.errors import BadRequest
from app.sources.base import Collection
from app.tools.arguments import Argument, Given, quoted
from app.tools.calling import Call, Definition
from app.tools.dates.named import named_days
from app.tools.dates.zones import here
from app.tools.documents.fetch import (
    ABOUT_ID,
    ABOUT_TITLE,
    address,
    collection_id,
    collection_title,
    day_id,
    day_title,
)
from app.tools.rendering import Answer

MAX_QUERY = 1000  # characters; a model may hand on a whole question
MOST_COLLECTIONS = 5
MOST_DAYS = 31  # a month
RECENT_DAYS = 7  # given when a question names no day
_MOST_WORDS = 40

_GENERAL = frozenset({"health", "wellbeing", "overview", "summary", "recent", "recently", "latest", "data", "ring"})
_SHORTEST_WORD = 3  # letters: rem, hrv
_STOP = frozenset({
    "and", "any", "are", "been", "did", "does", "for", "from", "had", "has", "have", "how", "last", "over", "than",
    "that", "the", "there", "these", "this", "those", "was", "were", "what", "when", "which", "why", "with", "you",
})  # fmt: skip
_MEANS = {
    "hrv": ("rmssd",), "pulse": ("heart", "rate"), "oxygen": ("spo2",), "steps": ("steps",), "exercise": ("workout",),
    "training": ("workout", "activity"), "fever": ("temperature",), "tired": ("readiness", "sleep"), "nap": ("sleep",),
    "alcohol": ("tag",), "illness": ("tag", "rest"), "weight": ("personal",), "fitness": ("vo2", "aerobic"),
}  # fmt: skip


def _read_query(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text, not {quoted(value)}.")
    if len(value) > MAX_QUERY:
        raise BadRequest(f"{name} is {len(value)} characters long; at most {MAX_QUERY} are taken. Ask in fewer words.")
    return value


QUERY_TEXT = Argument(
    "query",
    {"type": "string", "description": "A day and a topic, in English.", "examples": ["last night", "hrv 2026-03-10"]},
    _read_query,
    "",
    True,
)


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    query = " ".join(given[QUERY_TEXT].casefold().split())
    place = await here(call, next(iter(call.service.sources)), None)
    words = _words(query)
    collections = _best(call, words)

    def meant(today: date) -> list[date]:
        named = named_days(query, today=today, most=MOST_DAYS)
        if not named and (collections or words & _GENERAL):
            named = [today - timedelta(days=back) for back in range(RECENT_DAYS)]
        return [day for day in named if day <= today]

    days = _wherever(meant, place.today, (place.earliest, place.latest))
    found = [(day_id(day), day_title(day, place.today, place.zone.key)) for day in days]
    found += [(collection_id(collection), collection_title(collection)) for collection in collections]
    if found:
        found.append((ABOUT_ID, ABOUT_TITLE))
    url = address(call)
    return {"results": [{"id": identifier, "title": title, "url": url} for identifier, title in found]}


def _wherever(meant: Callable[[date], list[date]], today: date, anywhere: tuple[date, date]) -> list[date]:
    """Return the days that are meant where it is `today`, then those meant only where it is another day now."""
    first, last = anywhere
    elsewhere = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    days = [day for one in (today, *reversed(elsewhere)) for day in meant(one)]
    return list(dict.fromkeys(days))[:MOST_DAYS]


def _words(query: str) -> set[str]:
    found = re.findall(r"[a-z0-9]+", query)[:_MOST_WORDS]
    plain = {word for word in found if len(word) >= _SHORTEST_WORD and word not in _STOP}
    return plain | {more for word in plain for more in _MEANS.get(word, ())}


def _best(call: Call, words: set[str]) -> list[Collection]:
    rated = [
        (_rating(collection, words), -place, collection)
        for place, collection in enumerate(c for source in call.service.sources for c in source.collections.values())
    ]
    ordered = sorted((entry for entry in rated if entry[0] > 1), key=lambda entry: entry[:2], reverse=True)
    return [collection for _, _, collection in ordered[:MOST_COLLECTIONS]]


def _rating(collection: Collection, words: set[str]) -> int:
    """Rate how well a collection fits: its name counts most, then its fields and what it carries, then meanings."""
    name = _stems(collection.name)
    fields = _stems(" ".join(field.name for field in collection.fields))
    carries = _stems(collection.carries)
    meanings = _stems(" ".join(f"{field.meaning} {field.unit or ''}" for field in collection.fields))
    return sum(
        5 * (word in name) + 2 * (word in fields) + 3 * (word in carries) + (word in meanings)
        for word in _stems(" ".join(words))
    )


def _stems(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.casefold())}


SEARCH = Definition(
    name="search",
    title="Find days and topics",
    description=(
        "Find pages for a question about the owner's sleep, readiness, activity, heart rate and the like. Name the day "
        "(2026-03-10, last night, yesterday, last week) and the topic (sleep, hrv, steps). Without a day, the last "
        "seven are given. Results hold no data: read a day's page with fetch."
    ),
    arguments=(QUERY_TEXT,),
    run=run,
)
