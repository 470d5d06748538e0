"""Which store the settings choose."""

from pathlib import Path

import pytest

from app.errors import SettingsError, StoreUnavailable
from app.store.opening import choose_store
from app.store.redis import RedisStore
from app.store.sqlite import SqliteStore
from tests.store.conftest import Clock

pytestmark = pytest.mark.anyio


async def test_a_data_folder_gives_the_embedded_store(tmp_path: Path, clock: Clock) -> None:
    store = choose_store(data_dir=tmp_path / "data", redis_url=None, now=clock)

    assert isinstance(store, SqliteStore)
    assert (tmp_path / "data" / "vitals.sqlite3").exists()
    await store.aclose()


async def test_an_address_gives_redis_and_no_file(tmp_path: Path, redis_url: str, clock: Clock) -> None:
    store = choose_store(data_dir=tmp_path / "data", redis_url=redis_url, now=clock)

    await store.ping()
    assert isinstance(store, RedisStore)
    assert not (tmp_path / "data").exists()
    await store.aclose()


async def test_neither_is_a_setting_to_make(clock: Clock) -> None:
    with pytest.raises(SettingsError, match="DATA_DIR"):
        choose_store(data_dir=None, redis_url=None, now=clock)


async def test_a_server_that_does_not_answer_is_seen_at_the_first_call(clock: Clock) -> None:
    store = choose_store(data_dir=None, redis_url="redis://127.0.0.1:1/0", now=clock)

    with pytest.raises(StoreUnavailable):
        await store.ping()
    await store.aclose()
