"""Which store this process uses."""

from collections.abc import Callable
from pathlib import Path

from app.errors import SettingsError
from app.store.base import Store
from app.store.redis import RedisStore
from app.store.sqlite import SqliteStore

FILE_NAME = "vitals.sqlite3"


async def open_store(*, data_dir: Path | None, redis_url: str | None, now: Callable[[], float]) -> Store:
    """Open Redis if an address is given, else the file in `data_dir`, and see that it answers.

    Raises:
        SettingsError: Neither is given, or the address is malformed.
        StoreUnavailable: It does not answer: a start that cannot store a sign-in is no start.
    """
    store: Store
    if redis_url:
        store = RedisStore(redis_url, now=now)
    elif data_dir:
        store = SqliteStore(data_dir / FILE_NAME, now=now)
    else:
        raise SettingsError("No store: set DATA_DIR to a folder (like ./data), or REDIS_URL.")
    try:
        await store.ping()
    except BaseException:
        await store.aclose()
        raise
    return store
