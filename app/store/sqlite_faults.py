"""What SQLite's failures mean for us: whether they pass, and what to do."""

import errno
import sqlite3

from app.errors import Outage, StoreUnavailable

# After these a connection is opened anew: what it remembers of the file may be what is wrong with it.
DOUBTFUL = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
    }
)
_DAMAGED = "The file in DATA_DIR is damaged: restore it from a copy, or move it away and sign in again."
_WORDS: dict[int, tuple[Outage, str]] = {
    sqlite3.SQLITE_FULL: ("full", "The disk of DATA_DIR is full. Make room; what is stored is kept and can be read."),
    sqlite3.SQLITE_READONLY: ("read_only", "DATA_DIR cannot be written. Let the user that vitals runs as write there."),
    sqlite3.SQLITE_CANTOPEN: (
        "unusable",
        "Check that DATA_DIR is a folder on a disk that can be written, and that it and its files belong to the user "
        "that vitals runs as.",
    ),
    sqlite3.SQLITE_IOERR: ("unusable", "Check the disk of DATA_DIR, its space and its limits."),
    sqlite3.SQLITE_CORRUPT: ("unusable", _DAMAGED),
    sqlite3.SQLITE_NOTADB: ("unusable", _DAMAGED),
    sqlite3.SQLITE_BUSY: ("unreachable", "Another process keeps the file in DATA_DIR to itself."),
}
_ELSE: tuple[Outage, str] = ("unreachable", "Check that DATA_DIR is writable and that its disk has space.")
_OF_THE_SYSTEM = {
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EROFS: sqlite3.SQLITE_READONLY,
}


def code(exc: sqlite3.Error) -> int:
    """Return the primary result code."""
    found: int = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    return found & 0xFF


def unavailable(exc: sqlite3.Error | OSError) -> StoreUnavailable:
    """Return our error for one of SQLite's or the system's. Neither the path nor a value is in it."""
    if isinstance(exc, OSError):
        reason, number = exc.strerror or "unknown", _OF_THE_SYSTEM.get(exc.errno or 0, sqlite3.SQLITE_CANTOPEN)
    else:
        reason, number = getattr(exc, "sqlite_errorname", "SQLITE_MISUSE"), code(exc)
    outage, todo = _WORDS.get(number, _ELSE)
    return StoreUnavailable(f"The embedded store failed ({type(exc).__name__}: {reason}). {todo}", outage=outage)


def gone() -> StoreUnavailable:
    """Return our error for a file that was taken away from under this process."""
    return StoreUnavailable(
        "The file of the store is gone from DATA_DIR while vitals uses it. Put it back, and it goes on by itself. To "
        "begin anew without what it held, restart vitals.",
        outage="unusable",
    )
