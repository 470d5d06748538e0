"""What may be written to the log: events with allow-listed fields, and of libraries only where something happened.

A field that is not listed is dropped, whatever it holds. Of a record of a library, text and arguments go too: they may
quote a request. Neither exceptions nor tracebacks are printed, only their types and the place they came from.
"""

import json
import logging
import os
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, Literal, TextIO, cast

import orjson
import structlog

# Names, never values of a person: no reading, token, code, secret, address of a person, query string, header or body.
FIELDS = frozenset(
    {
        # requests
        "method", "path", "status", "duration_ms",
        # what failed and where
        "error", "reason", "where", "module",
        # who, by opaque names only
        "owner", "grant", "client_host",
        # what was done, and how much of it
        "tool", "source", "collection", "step", "outcome", "generation", "attempt", "count", "pages", "days",
        # the process
        "version", "public_url", "host", "port", "workers", "store", "sandbox", "reference", "dropped",
        "redis_is_ahead_s",
    }
)  # fmt: skip
_OF_STRUCTLOG = frozenset({"event", "level", "timestamp"})
_LISTED = FIELDS | _OF_STRUCTLOG
_LONGEST_VALUE = 200
_LONGEST_REASON = 500  # our own sentences: what happened, and what to do
# What uvicorn says about matters that an operator meets, by how its text begins; of all else only the place is written.
_KNOWN_TEXTS = {
    "Invalid HTTP request received": "client_sent_no_valid_http",
    "Child process [": "process_did_not_start",
    "New child process [": "process_not_ready",
}
_OUR_CODE = str(Path(__file__).parent) + os.sep

Log = structlog.typing.FilteringBoundLogger


def get(name: str) -> Log:
    """Return the logger of one module; call it with a fixed event name and fields of `FIELDS`."""
    return cast("Log", structlog.get_logger(module=name))


def configure(
    *, level: str = "info", style: Literal["json", "text"] | None = None, stream: TextIO | None = None
) -> None:
    """Send every log of this process through the allow-list.

    Args:
        level: The least severe level of our own events that is written; libraries need a warning.
        style: None chooses text on a terminal and json elsewhere.
        stream: Where to; None is standard error.
    """
    out = stream or sys.stderr
    if style is None:
        style = "text" if out.isatty() else "json"
    render = as_json if style == "json" else as_text
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            only_allowed,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,  # a later `configure` (a worker, a test) must reach loggers made before it
    )
    root = logging.getLogger()
    root.handlers = [_FromStandardLibrary()]
    root.setLevel(logging.WARNING)
    logging.getLogger("app").setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "mcp", "httpx2", "httpcore2", "authlib", "asyncio"):
        library = logging.getLogger(name)
        library.handlers, library.propagate = [], True
        library.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def only_allowed(_logger: object, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Drop every field that is not in `FIELDS`, and say which names were dropped."""
    kept = {
        key: _plain(value, _LONGEST_REASON if key == "reason" else _LONGEST_VALUE)
        for key, value in event.items()
        if key in _LISTED
    }
    if len(kept) != len(event):
        kept["dropped"] = ",".join(sorted(event.keys() - kept.keys()))[:_LONGEST_VALUE]
    return kept


def as_json(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """Render for programs: one JSON object."""
    try:
        return orjson.dumps(event).decode()
    except TypeError:  # half a surrogate pair in a text, or a number of more than 64 bits
        return json.dumps(event, separators=(",", ":"))


def as_text(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """Render for people: time, level, event, then the fields."""
    fields = " ".join(f"{key}={value}" for key, value in event.items() if key not in _OF_STRUCTLOG)
    time_of_day = str(event.get("timestamp", ""))[11:19]
    return f"{time_of_day} {event.get('level', ''):7} {event.get('event', '')} {fields}".rstrip()


def place(exc: BaseException) -> str:
    """Name the innermost line of this project that an exception passed, or else its innermost line."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    frames = traceback.extract_tb(exc.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_OUR_CODE)]
    if not frames:
        return ""
    frame = (ours or frames)[-1]
    return f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}"


def kind(exc: BaseException) -> str:
    """Name an exception's type, and those inside a group, without its text."""
    if isinstance(exc, BaseExceptionGroup):
        return f"{type(exc).__name__}({','.join(kind(inner) for inner in exc.exceptions[:5])})"
    return type(exc).__name__


class _FromStandardLibrary(logging.Handler):
    """Turns a record of `logging` into an event: ours keeps its fixed text and listed fields, a library's its place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        ours = record.name.startswith("app.")
        fields: dict[str, Any] = {"module": record.name}
        if ours:
            fields |= {key: value for key, value in vars(record).items() if key in FIELDS and key != "module"}
        fields.setdefault("where", f"{record.module}:{record.lineno}")
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = kind(record.exc_info[1])
            fields["where"] = place(record.exc_info[1]) or fields["where"]
        # The text as written in the code, without its arguments.
        event = str(record.msg).replace(" ", "_") if ours else _known(record)
        structlog.get_logger().log(max(record.levelno, logging.DEBUG), event, **fields)


def _known(record: logging.LogRecord) -> str:
    if record.name == "uvicorn.error":
        for beginning, event in _KNOWN_TEXTS.items():
            if str(record.msg).startswith(beginning):
                return event
    return "library_log"


def _plain(value: object, longest: int) -> str | int | float | bool | None:
    """Keep plain values; of text one short line without a query string; of anything else its type."""
    if not isinstance(value, str):
        return value if isinstance(value, bool | int | float | None) else type(value).__name__
    if len(value) <= longest and value.isidentifier():  # one word, as most are: there is nothing to take away
        return value
    line = " ".join(value.split())[:longest]
    return line.split("?", 1)[0] if "://" in line or line.startswith("/") else line
