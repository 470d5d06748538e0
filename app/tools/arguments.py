"""What a tool takes: each argument once, as JSON schema for the client and as a check for us.

Hosts differ in how they send things: numbers and lists arrive as text, and what was left empty arrives as null or "".
All of that is understood here; anything else is refused with the argument's name and an example.
"""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app.errors import BadRequest

T = TypeVar("T")

MAX_TEXT = 200  # characters; the longest sensible name, and what an error may echo
_SURELY = 0.75  # "detial" for "detail" has 0.83, "evil" 0.6
MAX_NAMES = 100  # each unknown one is compared with all known ones


@dataclass(frozen=True, slots=True)
class Argument(Generic[T]):
    """One argument of a tool."""

    name: str
    schema: Mapping[str, Any]
    read: Callable[[str, object], T]  # (argument name, value as sent) → value, or BadRequest
    default: T
    required: bool = False


class Given:
    """The arguments of one call, checked."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def __getitem__(self, argument: Argument[T]) -> T:
        value: T = self._values.get(argument.name, argument.default)  # type: ignore[assignment]  # `check` read it with this argument
        return value


def check(tool: str, arguments: Sequence[Argument[Any]], sent: Mapping[str, object]) -> Given:
    """Read what was sent.

    Raises:
        BadRequest: An unknown name, a missing or a malformed value. The text names the argument.
    """
    known = {argument.name: argument for argument in arguments}
    for name in sent:
        if name not in known:
            raise BadRequest(_unknown(tool, name, list(known)))
    values: dict[str, object] = {}
    for name, argument in known.items():
        value = sent.get(name)
        if value is None or value == "":
            if argument.required:
                example = argument.schema.get("examples", ["…"])[0]
                raise BadRequest(f"{tool} needs the argument {name}, for example {name}={example!r}.")
            continue
        values[name] = argument.read(name, value)
    return Given(values)


def schema(arguments: Sequence[Argument[Any]]) -> dict[str, Any]:
    """Return the JSON schema of all arguments together."""
    required = [argument.name for argument in arguments if argument.required]
    whole: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: dict(argument.schema) for argument in arguments},
        "additionalProperties": False,
    }
    if required:
        whole["required"] = required
    return whole


def quoted(value: object) -> str:
    """Show a value that was sent, on one line and not too long."""
    text = repr(value) if isinstance(value, str) else type(value).__name__
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…'"


def near(name: str, known: Sequence[str], *, alike: float = 0.6) -> list[str]:
    """Return the known names that look most like this one, best first; `alike` is how much, 1 for the same."""
    lowered = {candidate.casefold(): candidate for candidate in known}
    return [lowered[match] for match in difflib.get_close_matches(name.casefold(), list(lowered), n=3, cutoff=alike)]


def meant(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that was surely meant: misspelt, or part of a longer one (start_date). None: no guess."""
    parts = [part for part in name[:MAX_TEXT].casefold().split("_") if part in known]
    return next(iter(near(name[:MAX_TEXT], known, alike=_SURELY) or parts), None)


def text(name: str, description: str, *, example: str, required: bool = False) -> Argument[str | None]:
    """Make an argument that is a short text."""
    return Argument(name, {"type": "string", "description": description, "examples": [example]}, _text, None, required)


def choice(name: str, description: str, options: tuple[str, ...], *, default: str | None) -> Argument[str | None]:
    """Make an argument that is one of a few words."""

    def read(name: str, value: object) -> str | None:
        word = _text(name, value)
        if word not in options:
            raise BadRequest(f"{name}={quoted(value)} is not one of {', '.join(options)}.")
        return word

    body: dict[str, Any] = {"type": "string", "enum": list(options), "description": description}
    if default is not None:
        body["default"] = default
    return Argument(name, body, read, default)


def number(name: str, description: str, *, low: int, high: int, default: int) -> Argument[int]:
    """Make an argument that is a whole number from `low` to `high`."""

    def read(name: str, value: object) -> int:
        sent = value.strip() if isinstance(value, str) else value
        found = int(sent) if isinstance(sent, str) and sent.isascii() and sent.isdecimal() and len(sent) < 10 else sent
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool) or not low <= found <= high:
            raise BadRequest(f"{name} must be a whole number from {low} to {high}, for example {name}={default}.")
        return found

    body = {"type": "integer", "minimum": low, "maximum": high, "default": default, "description": description}
    return Argument(name, body, read, default)


def flag(name: str, description: str) -> Argument[bool]:
    """Make an argument that is true or false, and false when left out."""

    def read(name: str, value: object) -> bool:
        word = value.strip().casefold() if isinstance(value, str) else value
        if word is True or word == "true":
            return True
        if word is False or word == "false":
            return False
        raise BadRequest(f"{name} must be true or false, for example {name}=true.")

    return Argument(name, {"type": "boolean", "default": False, "description": description}, read, False)


def names(name: str, description: str, *, example: str) -> Argument[tuple[str, ...]]:
    """Make an argument that is a list of names, also as one text with commas."""

    def read(name: str, value: object) -> tuple[str, ...]:
        items: object = value
        if isinstance(value, str):
            items = _listed(value)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise BadRequest(f"{name} must be a list of names, or one text with commas: {name}={example!r}.")
        if len(items) > MAX_NAMES:
            raise BadRequest(f"{name} has {len(items)} names; at most {MAX_NAMES} are taken.")
        return tuple(dict.fromkeys(item.strip()[:MAX_TEXT] for item in items if item.strip()))

    body = {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}],
        "description": description,
        "examples": [example],
    }
    return Argument(name, body, read, ())


def _listed(value: str) -> object:
    if value.lstrip().startswith("["):  # some hosts send the list as JSON text
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value.split(",")


def _text(name: str, value: object) -> str | None:
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text, not {quoted(value)}.")
    if len(value) > MAX_TEXT:
        raise BadRequest(f"{name} is {len(value)} characters long; at most {MAX_TEXT} are taken.")
    return value.strip()


def _unknown(tool: str, name: str, known: list[str]) -> str:
    takes = f"It takes {', '.join(known)}." if known else "It takes no arguments."
    guess = meant(name, known)
    hint = f" Did you mean {guess}?" if guess else ""
    if name in ("limit", "cursor", "page", "next_token", "offset"):
        hint = " Answers are never paged: narrow the dates, or go on from continue_from when an answer carries it."
    return f"{tool} has no argument {quoted(name)}.{hint} {takes}"
