"""One connection to the SQLite file: opening it privately, its schema, statements run in a worker thread."""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread

from app.errors import StoreUnavailable
from app.store.outages import Outages
from app.store.private_files import refuse_open_to_others
from app.store.sqlite_faults import DOUBTFUL, code, gone, unavailable

_BUSY_S = 5.0  # how long a statement waits for another process's write
_LOOK_S = 0.02  # so long may a lookup believe that its file is still there; looking takes half as long as finding
_OPEN_S = 10.0  # how long opening waits for other processes that open a new file at the same moment
_VERSION = 1
_SCHEMA = (
    "CREATE TABLE records (key TEXT PRIMARY KEY, value BLOB NOT NULL, expires_at REAL) WITHOUT ROWID",
    "CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, fence INTEGER NOT NULL,"
    " expires_at REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE fences (last INTEGER NOT NULL)",
    "INSERT INTO fences VALUES (0)",
    f"PRAGMA user_version = {_VERSION}",
)

Rows = list[tuple[Any, ...]]


class SqliteFile:
    """A connection that one thread at a time uses.

    It belongs to the file that was at the path when it was opened. If that is taken away, every call fails until it, or
    another one, is there: what is written into a deleted file would be gone with the process.

    Args:
        path: The file; made, for its owner alone, if there is none.
        outages: Is told what fails and what works.
        readonly: Never writes.
        patient: Waits for other processes.

    Raises:
        StoreUnavailable: The file cannot be opened, others can read it, or a newer version of this program wrote it.
    """

    def __init__(self, path: Path, *, outages: Outages, readonly: bool = False, patient: bool = True) -> None:
        self._path = path
        self._outages = outages
        self._readonly = readonly
        self._patient = patient
        self._closed = False
        self._looked_at = float("-inf")  # when a lookup last made sure that the file is still there
        self._doubtful = False  # the last failure may lie in what this connection remembers of the file
        try:
            _make_private(path)
            self._raw: sqlite3.Connection | None = self._opened()
        except (sqlite3.Error, OSError) as exc:
            raise unavailable(exc) from exc
        self._limiter = anyio.CapacityLimiter(1)  # the others wait as tasks, not as threads
        self._lock = threading.Lock()  # a natively cancelled call gives its place back while its thread still works

    async def run(self, sql: str, parameters: Mapping[str, object], *, then: str | None = None) -> tuple[Rows, int]:
        """Execute, and return the rows and how many were changed.

        Args:
            sql: One statement; alone it is a transaction of its own.
            parameters: Its named parameters.
            then: A second statement for the same transaction, executed if the first gave rows.

        Raises:
            StoreUnavailable: SQLite failed, or another process kept the file for too long.
        """
        try:
            done = await anyio.to_thread.run_sync(self._run, sql, parameters, then, limiter=self._limiter)
        except StoreUnavailable as failure:
            if not self._closed:
                self._outages.failed(failure, wrote=not self._readonly)
            raise
        self._outages.worked(wrote=not self._readonly)
        return done

    def at_once(self, sql: str, parameters: Mapping[str, object]) -> Rows | None:
        """Execute a lookup here and now, on the event loop: a thread would take ten times as long as the lookup.

        Only on a connection opened with `patient=False`, which never waits for another process.

        Returns:
            The rows; None if it takes `run`, and a wait: the file is busy at this moment, or must be opened anew.

        Raises:
            StoreUnavailable: SQLite failed.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            now = time.monotonic()
            if now - self._looked_at >= _LOOK_S:
                if not self._still_ours():
                    return None
                self._looked_at = now
            if self._raw is None or self._doubtful:
                return None
            with closing(self._raw.execute(sql, parameters)) as cursor:
                return cursor.fetchall()
        except sqlite3.Error as exc:
            if code(exc) == sqlite3.SQLITE_BUSY:
                return None
            raise self._failed(exc) from exc
        finally:
            self._lock.release()

    async def mend(self) -> None:
        """Open anew, if that is needed; after that `at_once` serves again."""
        await anyio.to_thread.run_sync(self._mend, limiter=self._limiter)

    async def aclose(self) -> None:
        """Close, after the call that is running."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close, limiter=self._limiter)

    def _run(self, sql: str, parameters: Mapping[str, object], then: str | None) -> tuple[Rows, int]:
        with self._lock:
            raw = self._open_one()
            try:
                if then is not None:
                    return _both(raw, sql, parameters, then)
                with closing(raw.execute(sql, parameters)) as cursor:
                    return cursor.fetchall(), cursor.rowcount
            except sqlite3.Error as exc:
                raise self._failed(exc) from exc

    def _mend(self) -> None:
        with self._lock:
            self._open_one()

    def _open_one(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreUnavailable("The store is closed: this process is shutting down.")
        try:
            if self._raw is not None and not self._still_ours():
                if not self._path.exists():  # kept open: if the same file is put back, nothing was lost
                    raise gone()
                # SQLite sees that its path leads elsewhere, and leaves the files there alone.
                self._raw.close()
                self._raw = None
            if self._raw is None:
                refuse_open_to_others(self._path)
                self._raw = self._opened()
        except (sqlite3.Error, OSError) as exc:
            raise unavailable(exc) from exc
        return self._raw

    def _opened(self) -> sqlite3.Connection:
        raw = _open(self._path)
        if self._readonly:
            raw.execute("PRAGMA query_only = ON")
        if not self._patient:
            raw.execute("PRAGMA busy_timeout = 0")
        self._identity = _identity(self._path)
        self._doubtful = False
        return raw

    def _still_ours(self) -> bool:
        return not self._doubtful and _identity(self._path) == self._identity

    def _failed(self, exc: sqlite3.Error) -> StoreUnavailable:
        self._doubtful = code(exc) in DOUBTFUL
        return unavailable(exc)

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            if self._raw is not None:
                self._raw.close()
                self._raw = None


def _both(raw: sqlite3.Connection, sql: str, parameters: Mapping[str, object], then: str) -> tuple[Rows, int]:
    with _transaction(raw):
        rows: Rows = raw.execute(sql, parameters).fetchall()
        if rows:
            raw.execute(then)
    return rows, len(rows)


@contextmanager
def _transaction(raw: sqlite3.Connection) -> Iterator[None]:
    """Do all of it or nothing."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_open_to_others(path)
    # Created before SQLite opens it, so that it is never readable by others, not for a moment; SQLite gives the same
    # permissions to its -wal and -shm files. An existing file is never opened here: closing a second descriptor would
    # drop the POSIX locks that other handles of this process hold on it (sqlite.org/howtocorrupt.html, 2.2).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open(path: Path) -> sqlite3.Connection:
    give_up_at = time.monotonic() + _OPEN_S
    while True:
        # rw: never made here. A file that vanished under this process must not come back empty.
        address = f"file:{quote(str(path.absolute()))}?mode=rw"
        raw = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            _prepare(raw)
        except BaseException as exc:
            raw.close()
            # Turning WAL on does not wait its turn as other statements do: several processes opening a new file at
            # once would meet SQLITE_BUSY there.
            busy = isinstance(exc, sqlite3.OperationalError) and code(exc) == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > give_up_at:
                raise
            time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 - spreads them out, guards nothing
        else:
            return raw


def _prepare(raw: sqlite3.Connection) -> None:
    raw.execute("PRAGMA journal_mode = WAL")
    # FULL: a commit survives a power cut. The successor of a single-use token must not be lost for a faster write.
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("PRAGMA secure_delete = ON")  # what was taken or has expired is overwritten, not just unlinked
    with _transaction(raw):
        version = raw.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise StoreUnavailable("The data folder was written by a newer version of vitals. Install that one again.")
        for statement in _SCHEMA if version == 0 else ():
            raw.execute(statement)
