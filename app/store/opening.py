"""Which store this process uses."""

from collections.abc import Callable
from pathlib import Path

from app.errors import SettingsError
from app.store.base import Store
from app.store.sqlite import SqliteStore

FILE_NAME = "vitals.sqlite3"


def choose_store(*, data_dir: Path | None, redis_url: str | None, now: Callable[[], float]) -> Store:
    """Return Redis if an address is given, else the file in `data_dir`.

    The file is opened, or made, at once. Redis is connected to at the first call, so whoever starts asks for a `ping`.

    Raises:
        SettingsError: Neither is given, or the address is malformed.
        StoreUnavailable: The file cannot be opened.
    """
    if redis_url:
        from app.store.redis import RedisStore  # noqa: PLC0415 -- a tenth of a second, for the few that need it

        return RedisStore(redis_url, now=now, by_server_clock=True)
    if data_dir:
        return SqliteStore(data_dir / FILE_NAME, now=now)
    raise SettingsError("No store: set DATA_DIR to a folder (like ./data), or REDIS_URL.")
