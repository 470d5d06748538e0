"""A disk that is full or read-only, a file that is damaged or taken away: refused in words, told once, and healed."""

import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.errors import StoreUnavailable
from tests.app_under_test import running_app
from tests.system.asking import Said, ask, consent_page, heading, hear, lead, outage_lines

pytestmark = pytest.mark.anyio

FULL = (
    "temporarily_unavailable: The store is full, so nothing can be written down. "
    "Whoever runs this server has to make room."
)
UNUSABLE = (
    "temporarily_unavailable: The store cannot be used as it is. Whoever runs this server finds the reason in its log."
)
FILES = ("vitals.sqlite3", "vitals.sqlite3-wal", "vitals.sqlite3-shm")


@pytest.fixture(autouse=True)
def _looks_at_the_file_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.sqlite_file._LOOK_S", 0)


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


@contextmanager
def mounted(folder: Path, *arguments: str) -> Iterator[Path]:
    """Mount something at `folder`, or skip where this process may not."""
    folder.mkdir(mode=0o700)
    try:
        mount(*arguments, str(folder))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may mount a small disk, or one that cannot be written")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Write a file until the disk has no byte left."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    with suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(b"\0")
    return filler


def copy_of(folder: Path) -> Path:
    """Make a copy as SQLite makes it: whole, whatever is being written."""
    target = folder.with_name("copy.sqlite3")
    target.touch(mode=0o600)
    with closing(sqlite3.connect(folder / FILES[0])) as source, closing(sqlite3.connect(target)) as sink:
        source.backup(sink)
    return target


async def test_a_full_disk_serves_who_is_connected_signs_in_nobody_and_spends_no_token_of_oura(tmp_path: Path) -> None:
    with mounted(tmp_path / "data", "-t", "tmpfs", "-o", "size=600k,mode=0700", "none") as folder:
        async with running_app(folder) as vitals:
            app = await vitals.connected_app()
            before = await consent_page(vitals, app)
            with capture_logs() as written:
                filler = fill(folder)
                full = [await hear(vitals, app) for _ in range(3)]
                reading = await ask(app)
                await before.press("approve", {"timezone": "Europe/Berlin"})
                vitals.simulator.expire_access_tokens()
                renewing = await ask(app)
                spent_meanwhile = vitals.simulator.counts.refreshes

                filler.unlink()
                renewed = await ask(app)
                back = await hear(vitals, app)

    for each in full:
        assert each.mcp == (200, "")
        assert each.token == (503, FULL)
        assert (each.ready, each.alive) == (200, 200)
    assert reading["structuredContent"]["complete"] is True
    assert (before.status, heading(before.page)) == (503, "The store is full")
    assert "so nothing was read. The store is full" in str(renewing)
    assert spent_meanwhile == 0
    assert renewed["structuredContent"]["complete"] is True
    assert (back.token, vitals.simulator.counts.refreshes) == ((200, ""), 1)
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]
    assert "The disk of DATA_DIR is full" in str(outage_lines(written))


async def test_a_disk_that_is_full_at_the_start_is_said_and_nothing_half_made_stays(tmp_path: Path) -> None:
    with mounted(tmp_path / "data", "-t", "tmpfs", "-o", "size=200k,mode=0700", "none") as folder:
        async with running_app(folder):
            pass
        filler = fill(folder)
        with pytest.raises(StoreUnavailable, match=r"The disk of DATA_DIR is full|space"):
            async with running_app(folder):
                pytest.fail("it started without a store")
        filler.unlink()
        async with running_app(folder) as vitals:
            assert (await ask(await vitals.connected_app()))["structuredContent"]["complete"] is True


async def test_a_limit_on_the_size_of_files_is_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    """What a quota does, for those who may not mount."""
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        with capture_logs() as written:
            resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / FILES[1]).stat().st_size, limits[1]))
            try:
                limited = [await hear(vitals, app) for _ in range(3)]
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            back = await hear(vitals, app)

    for each in limited:
        assert each.mcp == (200, "")
        assert each.token == (503, UNUSABLE)
    assert (back.mcp, back.token) == ((200, ""), (200, ""))
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]


async def test_a_disk_that_cannot_be_written_stops_the_start_with_the_reason_and_harms_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path / "data", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none") as folder:
        async with running_app(folder) as vitals:
            app = await vitals.connected_app()
        mount("-o", "remount,ro", str(folder))
        with pytest.raises(StoreUnavailable, match=r"Check that DATA_DIR is a folder on a disk that can be written"):
            async with running_app(folder, clock=vitals.clock, simulator=vitals.simulator):
                pytest.fail("it started without a store")
        mount("-o", "remount,rw", str(folder))
        async with (
            running_app(folder, clock=vitals.clock, simulator=vitals.simulator) as again,
            again.http() as app.http,
        ):
            said = await ask(app)

    assert said["structuredContent"]["complete"] is True


@contextmanager
def own_disk(image: Path, folder: Path) -> Iterator[Path]:
    """Mount a file system in a file that turns read-only at an error, as most hosts set theirs."""
    with mounted(folder, "-o", "loop,errors=remount-ro", str(image)):
        (folder / "data").mkdir(mode=0o700, exist_ok=True)
        yield folder / "data"
    folder.rmdir()


def formatted(image: Path) -> Path:
    """Make a file system in a file, or skip where there is no tool for it."""
    image.write_bytes(b"")
    os.truncate(image, 24 * 1024 * 1024)
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no mkfs.ext4 here")
    return image


def mend(image: Path) -> None:
    """Do what a host does before it mounts such a disk again; 1 means that something was put right."""
    done = subprocess.run(["e2fsck", "-fy", str(image)], check=False, capture_output=True, text=True)
    assert done.returncode in {0, 1}, done.stdout


def fail_of_itself(disk: Path) -> None:
    """Let the kernel meet an error on a disk that is in use: it takes no writes from then on."""
    found = subprocess.run(["findmnt", "-no", "SOURCE", str(disk)], check=True, capture_output=True, text=True)
    trigger = Path("/sys/fs/ext4") / Path(found.stdout.strip()).name / "trigger_fs_error"
    if not trigger.exists():
        pytest.skip("this kernel has no switch that makes a file system fail")
    trigger.write_text("vitals test\n")


async def test_a_disk_that_turns_read_only_under_the_process_serves_who_is_connected_and_spends_no_token_of_oura(
    tmp_path: Path,
) -> None:
    image, disk = formatted(tmp_path / "disk"), tmp_path / "mounted"
    with own_disk(image, disk) as folder:
        async with running_app(folder) as vitals:
            app = await vitals.connected_app()
            before = await consent_page(vitals, app)
            with capture_logs() as written:
                fail_of_itself(disk)
                meanwhile = [await hear(vitals, app) for _ in range(3)]
                reading = await ask(app)
                await before.press("approve", {"timezone": "Europe/Berlin"})
                vitals.simulator.expire_access_tokens()
                renewing = await ask(app)
    mend(image)
    with own_disk(image, disk) as folder:
        async with (
            running_app(folder, clock=vitals.clock, simulator=vitals.simulator) as again,
            again.http() as app.http,
        ):
            after = await ask(app)

    for each in meanwhile:
        assert each.mcp == (200, "")
        assert each.token[0] == 503
        assert (each.ready, each.alive) == (200, 200)
    assert meanwhile[-1].token[1].startswith("temporarily_unavailable: The store takes no changes at this moment.")
    assert reading["structuredContent"]["complete"] is True
    assert before.status == 503
    assert "so nothing was read" in str(renewing)
    assert "DATA_DIR cannot be written" in str(outage_lines(written))
    assert after["structuredContent"]["complete"] is True
    assert vitals.simulator.counts.refreshes == 1  # after the restart; none was spent that could not be kept


def remove(folder: Path) -> None:
    for name in FILES:
        (folder / name).unlink()


def move_away(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    for name in FILES:
        (folder / name).rename(folder / "elsewhere" / name)


def put_copy(folder: Path) -> None:
    shutil.copy2(folder.with_name("copy.sqlite3"), folder / FILES[0])


def move_back(folder: Path) -> None:
    for name in FILES:
        (folder / "elsewhere" / name).rename(folder / name)


def nobody_gets_in(said: Said) -> bool:
    return (said.mcp, said.token, said.ready, said.alive) == ((503, UNUSABLE), (503, UNUSABLE), 503, 200)


@pytest.mark.parametrize(
    ("take", "give_back"),
    [
        pytest.param(remove, put_copy, id="deleted, and a copy put there"),
        pytest.param(move_away, move_back, id="moved away, and back"),
        pytest.param(move_away, put_copy, id="moved away, and a copy put there"),
    ],
)
async def test_a_file_that_is_taken_away_under_the_process_lets_nobody_in_until_it_is_back(
    tmp_path: Path, take: Callable[[Path], None], give_back: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    async with running_app(folder) as vitals:
        app = await vitals.connected_app()
        copy_of(folder)
        with capture_logs() as written:
            take(folder)
            gone = [await hear(vitals, app) for _ in range(3)]
            page = await consent_page(vitals, app)
            made_anew = (folder / FILES[0]).exists()
            give_back(folder)
            back = await hear(vitals, app)
            said = await ask(app)
        token = app.refresh_token
    async with running_app(folder, clock=vitals.clock, simulator=vitals.simulator) as later, later.http() as app.http:
        await app.token(grant_type="refresh_token", refresh_token=token)  # what came after is in the file, too
        still = await ask(app)

    assert all(nobody_gets_in(each) for each in gone)
    assert (page.status, heading(page.page)) == (503, "The store cannot be used")
    assert "Trying again does not help" in lead(page.page)
    assert not made_anew, "an empty file in its place would be a store that forgot everybody"
    assert (back.mcp, back.token, back.ready) == ((200, ""), (200, ""), 200)
    assert said["structuredContent"]["complete"] is True
    assert still["structuredContent"]["complete"] is True
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]
    assert "gone from DATA_DIR" in str(outage_lines(written))


def damage(folder: Path) -> None:
    """Write noise over everything but the header that says it is a database."""
    with closing(sqlite3.connect(folder / FILES[0])) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (folder / FILES[0]).open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(100)
        file.write(os.urandom(size - 100))


def rename_over(folder: Path, copy: bytes) -> None:
    for name in FILES[1:]:
        (folder / name).unlink()
    (folder / "new").write_bytes(copy)
    (folder / "new").chmod(0o600)
    (folder / "new").rename(folder / FILES[0])


def write_over(folder: Path, copy: bytes) -> None:
    (folder / FILES[0]).write_bytes(copy)  # the same file, so nothing shows but what is in it


@pytest.mark.parametrize("heal", [rename_over, write_over])
async def test_a_file_that_is_damaged_under_the_process_is_named_and_healed_by_a_copy(
    tmp_path: Path, heal: Callable[[Path, bytes], None]
) -> None:
    folder = tmp_path / "data"
    async with running_app(folder) as vitals:
        app = await vitals.connected_app()
        copy = copy_of(folder).read_bytes()
        with capture_logs() as written:
            damage(folder)
            broken = await hear(vitals, app)
            again = await hear(vitals, app)
            heal(folder, copy)
            back = await hear(vitals, app)
            said = await ask(app)

    assert nobody_gets_in(broken)
    assert nobody_gets_in(again)
    assert (back.mcp, back.token, back.ready) == ((200, ""), (200, ""), 200)
    assert said["structuredContent"]["complete"] is True
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]
    assert "SQLITE_CORRUPT). The file in DATA_DIR is damaged: restore it from a copy" in str(outage_lines(written))
