"""What an answer without records says: one word for what is known, and what not to conclude."""

from datetime import date

from app.sources.base import Collection, DateKind, Fetched
from app.tools.rendering import Answer

_NOT_NONE = (
    "No record is not a measurement of nothing: the ring may not have been worn, or not have synced yet "
    "(nights and scores come only after the owner opens the source's app)."
)


def empty(collection: Collection, fetched: Fetched | None, *, start: date | None, today: date) -> Answer:
    """Return the value of `empty`.

    Args:
        collection: What was asked for.
        fetched: What came; None when nothing was asked because the range lies ahead.
        start: First day asked for.
        today: The owner's day.
    """
    if start is not None and start > today:
        return {"reasons": ["in_future"], "note": f"{start} lies ahead: today is {today}. Nothing follows from this."}
    if fetched is not None and not fetched.complete:
        return {
            "reasons": ["incomplete"],
            "note": "Not everything could be read, so this says nothing about whether records exist. Ask again later.",
        }
    if collection.date_kind is DateKind.UNDATED:
        return {"reasons": ["no_record"], "note": "The source holds no such record."}
    if collection.date_kind is DateKind.SPAN:
        return {
            "reasons": ["no_record"],
            "note": "The owner entered none for these days; that does not say none applied.",
        }
    return {"reasons": ["no_record"], "note": _NOT_NONE}
