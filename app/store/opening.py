"""Which store this process uses."""

from collections.abc import Callable
from pathlib import Path

from app.errors import SettingsError
from app.store.base import Store
from app.store.sqlite import SqliteStore

FILE_NAME = "vitals.sqlite3"


def choose_store(*, data_dir: Path | None, redis_url: str | None, now: Callable[[], float]) -> Store:
    """Return Redis if an address is given, else the file in `data_dir`. Nothing is connected or opened yet.

    Raises:
        SettingsError: Neither is given, or the address is malformed.
    """
    if redis_url:
        from app.store.redis import RedisStore  # noqa: PLC0415 -- a tenth of a second, for the few that need it

        return RedisStore(redis_url, now=now)
    if data_dir:
        return SqliteStore(data_dir / FILE_NAME, now=now)
    raise SettingsError("No store: set DATA_DIR to a folder (like ./data), or REDIS_URL.")


async def open_store(*, data_dir: Path | None, redis_url: str | None, now: Callable[[], float]) -> Store:
    """Choose the store and see that it answers.

    Raises:
        SettingsError: Neither is given, or the address is malformed.
        StoreUnavailable: It does not answer: a start that cannot store a sign-in is no start.
    """
    store = choose_store(data_dir=data_dir, redis_url=redis_url, now=now)
    try:
        await store.ping()
    except BaseException:
        await store.aclose()
        raise
    return store
