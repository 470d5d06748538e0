"""What is particular to the embedded store: who can read the file, what is on disk, what a lock does."""

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.errors import StoreUnavailable
from app.store.sqlite import SqliteStore
from app.store.sqlite_file import _SCHEMA
from tests.store.conftest import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _looks_at_the_file_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.sqlite_file._LOOK_S", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "vitals.sqlite3"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def make(path: Path, content: bytes = b"") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o600)


def holds(path: Path, needle: bytes) -> bool:
    return needle in path.read_bytes()


async def test_only_the_owner_can_read_the_folder_and_every_file(path: Path, clock: Clock) -> None:
    former = os.umask(0)
    try:
        store = SqliteStore(path, now=clock)
        await store.put("a", b"1")

        files = sorted(path.parent.iterdir())
        assert [file.name for file in files] == ["vitals.sqlite3", "vitals.sqlite3-shm", "vitals.sqlite3-wal"]
        assert [mode(file) for file in files] == [0o600] * 3
        assert mode(path.parent) == 0o700
        await store.aclose()
    finally:
        os.umask(former)


@pytest.mark.parametrize("name", ["vitals.sqlite3", "vitals.sqlite3-wal", "vitals.sqlite3-shm"])
@pytest.mark.parametrize("others", [0o640, 0o604, 0o620, 0o602])
async def test_a_file_that_others_could_read_or_write_is_refused_with_the_command_that_closes_it(
    tmp_path: Path, clock: Clock, name: str, others: int
) -> None:
    for each in ("vitals.sqlite3", name):
        make(tmp_path / each)
    (tmp_path / name).chmod(others)

    with pytest.raises(
        StoreUnavailable, match=rf"{name} in DATA_DIR can be read .*mode 0{others:o}.*chmod 600 {tmp_path}/{name}\."
    ) as no:
        SqliteStore(tmp_path / "vitals.sqlite3", now=clock)

    assert no.value.outage == "unusable"
    assert mode(tmp_path / name) == others, "what was open is for its owner to see, not for us to hide"


@pytest.mark.parametrize(("folder", "opens"), [(0o755, True), (0o2775, True), (0o1777, True), (0o777, False)])
async def test_a_folder_may_be_readable_as_the_root_of_a_volume_is_but_not_writable_by_everybody(
    tmp_path: Path, clock: Clock, folder: int, opens: bool
) -> None:
    os.chmod(tmp_path, folder)  # noqa: PTH101 - in an async test Path.chmod is taken for blocking

    if opens:
        await SqliteStore(tmp_path / "vitals.sqlite3", now=clock).aclose()
    else:
        with pytest.raises(StoreUnavailable, match=f"Run: chmod o-w {tmp_path}"):
            SqliteStore(tmp_path / "vitals.sqlite3", now=clock)
        await SqliteStore(tmp_path / "inside" / "vitals.sqlite3", now=clock).aclose()

    assert mode(tmp_path) == folder


async def test_a_commit_survives_a_power_cut_and_what_is_deleted_is_overwritten_by_the_settings_of_the_file(
    path: Path, clock: Clock
) -> None:
    store = SqliteStore(path, now=clock)
    raw = store._writer._raw
    assert raw is not None

    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert raw.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert raw.execute("PRAGMA secure_delete").fetchone() == (1,)
    await store.aclose()


async def test_what_has_expired_is_deleted_from_the_file_now_and_then(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, now=clock)
    await store.put("code:1", b"1", ttl_s=60)
    await store.put("conn:1", b"1")

    clock.at += 301
    await store.put("other", b"1")

    raw = store._reader._raw
    assert raw is not None
    assert raw.execute("SELECT key FROM records ORDER BY key").fetchall() == [("conn:1",), ("other",)]
    await store.aclose()


async def test_a_write_that_succeeded_does_not_fail_because_the_deleting_after_it_does(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path, now=clock)
    run = store._writer.run

    async def no_deleting(sql: str, *arguments: Any, **named: Any) -> Any:
        if sql.startswith("DELETE FROM records WHERE expires_at"):
            raise StoreUnavailable("The embedded store failed (SQLITE_FULL).")
        return await run(sql, *arguments, **named)

    monkeypatch.setattr(store._writer, "run", no_deleting)
    clock.at += 301

    assert await store.compare_and_set("conn:1", None, b"1")
    clock.at += 301
    await store.put("conn:2", b"2")

    await store.aclose()


async def test_what_was_taken_is_nowhere_in_the_files_after_a_checkpoint(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, now=clock)
    await store.put("code:1", b"canary-value-7731", ttl_s=60)
    await store.take("code:1")

    await store.aclose()  # the last handle checkpoints and removes the log

    assert [file.name for file in path.parent.iterdir()] == ["vitals.sqlite3"]
    assert not holds(path, b"canary-value-7731")


async def test_a_writer_elsewhere_does_not_hold_up_a_reader_and_fails_a_writer_closed(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, now=clock)
    await store.put("a", b"1")
    elsewhere = sqlite3.connect(path, isolation_level=None)
    elsewhere.execute("BEGIN IMMEDIATE")
    raw = store._writer._raw
    assert raw is not None
    raw.execute("PRAGMA busy_timeout = 20")

    with anyio.fail_after(5):
        assert await store.get("a") == b"1"
        with pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
            await store.compare_and_set("a", b"1", b"2")
        with pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
            async with store.lease("a", ttl_s=30, wait_s=0):
                pytest.fail("a lease that nobody wrote down")
    elsewhere.execute("ROLLBACK")
    elsewhere.close()

    assert await store.compare_and_set("a", b"1", b"2")
    await store.aclose()


async def test_a_file_of_a_newer_version_is_refused(path: Path, clock: Clock) -> None:
    await SqliteStore(path, now=clock).aclose()
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()

    with pytest.raises(StoreUnavailable, match="newer version"):
        SqliteStore(path, now=clock)


async def test_a_file_that_is_no_database_is_refused_in_words(path: Path, clock: Clock) -> None:
    make(path, b"not a database at all" * 100)

    with pytest.raises(StoreUnavailable, match=r"SQLITE_NOTADB.*damaged: restore it"):
        SqliteStore(path, now=clock)


async def test_a_file_whose_making_was_interrupted_is_made_anew_at_the_next_start(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("app.store.sqlite_file._SCHEMA", (*_SCHEMA[:2], "no statement", *_SCHEMA[2:]))  # a full disk, say
        with pytest.raises(StoreUnavailable):
            SqliteStore(path, now=clock)

    store = SqliteStore(path, now=clock)
    await store.put("a", b"1")
    await store.aclose()


async def test_a_folder_that_cannot_be_made_is_refused_in_words(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnavailable, match="DATA_DIR"):
        SqliteStore(tmp_path / "file" / "vitals.sqlite3", now=clock)


async def test_opening_waits_for_another_process_that_makes_the_file(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite answers SQLITE_BUSY to `journal_mode = WAL` without waiting; seen 7 times in 900 openings at once."""
    make(path)
    elsewhere = sqlite3.connect(path, isolation_level=None)
    elsewhere.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("app.store.sqlite_file._BUSY_S", 0)
    monkeypatch.setattr("app.store.sqlite_file.time.sleep", lambda _: elsewhere.execute("ROLLBACK"))

    store = SqliteStore(path, now=clock)

    await store.put("a", b"1")
    assert await store.get("a") == b"1"
    await store.aclose()
    elsewhere.close()


async def test_records_and_fencing_numbers_survive_a_restart(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, now=clock)
    await store.put("a", b"1")
    async with store.lease("l", ttl_s=30, wait_s=0) as before:
        pass
    await store.aclose()

    store = SqliteStore(path, now=clock)
    async with store.lease("l", ttl_s=30, wait_s=0) as after:
        pass
    assert await store.get("a") == b"1"
    await store.aclose()

    assert after > before


async def test_a_lookup_that_would_have_to_wait_waits_in_a_thread_and_still_finds(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, now=clock)
    await store.put("a", b"1")
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY

    class Busy:
        def execute(self, *_: object) -> object:
            raise busy

    quick = store._lookup._raw
    store._lookup._raw = Busy()  # type: ignore[assignment]  # SQLite answers so to a connection that does not wait
    found = await store.get("a")
    store._lookup._raw = quick
    await store.aclose()

    assert found == b"1"


async def test_the_connection_that_is_asked_on_the_event_loop_never_waits_and_never_writes(
    path: Path, clock: Clock
) -> None:
    store = SqliteStore(path, now=clock)
    raw = store._lookup._raw
    assert raw is not None

    assert raw.execute("PRAGMA busy_timeout").fetchone() == (0,)
    assert raw.execute("PRAGMA query_only").fetchone() == (1,)
    await store.aclose()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.get("a")


async def test_after_another_file_took_its_place_lookups_are_made_on_the_event_loop_again(
    path: Path, clock: Clock
) -> None:
    store = SqliteStore(path, now=clock)
    await store.put("a", b"old")
    other = SqliteStore(path.with_name("other"), now=clock)
    await other.put("a", b"new")
    await other.aclose()
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink()
    path.with_name("other").replace(path)

    assert await store.get("a") == b"new"
    assert store._lookup.at_once("SELECT value FROM records", {}) == [(b"new",)]
    await store.put("a", b"newer")
    assert await store.get("a") == b"newer"
    await store.aclose()
