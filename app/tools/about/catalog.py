"""`health_catalog`: what can be asked for, and how to read it."""

from app.sources.base import Collection, Field, Source
from app.tools.arguments import Given, text
from app.tools.calling import Call, Definition
from app.tools.rendering import Answer, written

COLLECTION = text("collection", "One collection in full; without it, all in short.", example="daily_sleep")

_GRANTED = "granted: whether the owner gave this scope at the source; null: the source did not say."


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    asked = given[COLLECTION]
    if asked is not None:
        source, collection = call.service.sources.find(asked)
        scopes, ended = await _signed_in(call, source)
        granted = collection.granted_by(scopes)
        notes = [*collection.notes, *collection.recent_notes, _GRANTED, *ended]
        answer: Answer = {**_short(collection, granted), **_long(collection), "notes": notes}
        return {**answer, "synthetic": True} if source.synthetic else answer
    collections: list[Answer] = []
    synthetic = False
    notes = [_GRANTED]
    for source in call.service.sources:
        scopes, ended = await _signed_in(call, source)
        notes += ended
        synthetic = synthetic or source.synthetic
        for collection in source.collections.values():
            fields = {field.name: _brief(field) for field in collection.fields}
            collections.append({**_short(collection, collection.granted_by(scopes)), "fields": fields})
    answer = {"n": len(collections), "notes": notes, "collections": collections}
    if synthetic:
        answer["synthetic"] = True
    if len(written(answer)) > call.service.answer_max_chars:
        answer["notes"] = [*notes, "Without fields, to fit: ask for one collection to see its fields."]
        answer["collections"] = [{name: e[name] for name in e if name != "fields"} for e in collections]
    return answer


async def _signed_in(call: Call, source: Source) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """Return the scopes the owner gave, and a note if nothing can be asked at the moment.

    Without the note a scope that was granted once would read as access. None also when nobody is signed in, which does
    not change what there is.
    """
    facts = await source.health(call.caller)
    scopes = facts.get("scopes_granted")
    granted = frozenset(map(str, scopes)) if isinstance(scopes, list | tuple | set | frozenset) else None
    if source.synthetic:
        granted = await source.granted(call.caller)
    if facts.get("state") == "live":
        return granted, ()
    page = f"{call.service.public_url}/connections"
    ended = f"There is no working sign-in at {source.name}: the owner signs in at {page}. Until then nothing is read."
    return granted, (ended,)


def _short(collection: Collection, granted: bool | None) -> Answer:
    said: Answer = {
        "collection": collection.qualified,
        "carries": collection.carries,
        "filed_by": str(collection.date_kind),
        "scope": collection.scope,
        "granted": granted,
    }
    if collection.also_scopes:
        said["or_scope"] = sorted(collection.also_scopes)
    if collection.dense:
        said["samples"] = True  # takes resolution
    return said


def _long(collection: Collection) -> Answer:
    said: Answer = {"fields": [_full(field) for field in collection.fields]}
    if collection.series:
        said["series"] = list(collection.series)
    return said


def _brief(field: Field) -> str:
    """`score`, `measurement, s`: kind and unit in a few letters, because there are some two hundred fields."""
    return f"{field.kind}, {field.unit}" if field.unit else str(field.kind)


def _full(field: Field) -> Answer:
    said: Answer = {"name": field.name, "kind": str(field.kind)}
    if field.unit:
        said["unit"] = field.unit
    if field.meaning:
        said["meaning"] = field.meaning
    if field.values:
        said["values"] = list(field.values)
    return said


CATALOG = Definition(
    name="health_catalog",
    title="What can be asked",
    description=(
        "List the collections: what each carries, how its records are filed under days, fields with kind and unit, and "
        "whether the owner granted it. With collection: that one in full, with meanings and values. Holds no data."
    ),
    arguments=(COLLECTION,),
    run=run,
)
