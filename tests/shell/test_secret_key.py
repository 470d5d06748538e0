import stat
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from app.errors import SettingsError
from app.settings.secret_key import FILE_NAME, new_secret, weakness
from app.settings.secret_key import kept_in as kept_beside

kept_in = partial(kept_beside, store_file="vitals.sqlite3")


def test_a_fresh_secret_is_strong_and_never_the_same() -> None:
    secrets = {new_secret() for _ in range(200)}

    assert len(secrets) == 200
    assert not [secret for secret in secrets if weakness(secret)]


def test_a_key_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    first = kept_in(tmp_path / "data")

    assert kept_in(tmp_path / "data") == first
    assert stat.S_IMODE((tmp_path / "data" / FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == [FILE_NAME]


def test_processes_that_start_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        secrets = set(pool.map(kept_in, [tmp_path / f"d{i // 8}" for i in range(64)]))

    assert len(secrets) == 8


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    kept_in(tmp_path)
    (tmp_path / FILE_NAME).chmod(0o640)

    with pytest.raises(SettingsError, match=rf"Run: chmod 600 {tmp_path}/{FILE_NAME}\."):
        kept_in(tmp_path)


def test_a_damaged_key_is_refused_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("half")
    (tmp_path / FILE_NAME).chmod(0o600)

    with pytest.raises(SettingsError, match="shorter"):
        kept_in(tmp_path)

    assert (tmp_path / FILE_NAME).read_text() == "half"


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SettingsError, match="DATA_DIR=/var/lib/vitals"):
        kept_in(tmp_path / "file" / "data")


def test_a_key_that_is_lost_is_not_replaced_in_silence(tmp_path: Path) -> None:
    (tmp_path / "vitals.sqlite3").write_text("")

    with pytest.raises(SettingsError, match=r"secret_key is missing .* Put it back .* move vitals.sqlite3 away"):
        kept_in(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["vitals.sqlite3"]
