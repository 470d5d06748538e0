import re
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli import main
from app.settings.secret_key import kept_in, weakness
from app.store.opening import FILE_NAME
from tests.processes import free_port, run

SANDBOX = {"OURA_SANDBOX": "1"}


def vitals(*arguments: str, **env: str) -> tuple[int, str, str]:
    """Run a command in this process: exit code, standard output, standard error."""
    result = CliRunner().invoke(main, arguments, env={"PORT": None, "HOST": None, "PUBLIC_URL": None, **env})
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def no_database(folder: Path) -> None:
    kept_in(folder, store_file=FILE_NAME)
    (folder / FILE_NAME).write_text("this is no database" * 100)
    (folder / FILE_NAME).chmod(0o600)


def test_secret_prints_one_good_secret_and_nothing_else() -> None:
    code, out, _ = vitals("secret")

    assert code == 0
    assert weakness(out.strip()) is None
    assert len(out.splitlines()) == 1


@pytest.mark.parametrize("command", ["serve", "check", "disconnect"])
def test_a_missing_setting_is_one_line_and_exit_2(command: str, tmp_path: Path) -> None:
    code, out, err = vitals(command, DATA_DIR=str(tmp_path), OURA_SANDBOX="", OURA_CLIENT_SECRET="canary")

    assert code == 2
    assert err.startswith("vitals: OURA_OWNER_EMAIL is not set")
    assert len(err.splitlines()) == 1
    assert "canary" not in out + err


def test_check_is_green_for_a_configuration_that_works_and_prints_the_redirect_uri(tmp_path: Path) -> None:
    code, out, _ = vitals(
        "check",
        DATA_DIR=str(tmp_path),
        PUBLIC_URL="https://v.example",
        OURA_OWNER_EMAIL="a@example.com",
        OURA_CLIENT_ID="x",
        OURA_CLIENT_SECRET="canary",
    )

    assert code == 0
    assert "https://v.example/callback/oura/\n" in out
    assert "canary" not in out
    assert "a@example.com" not in out


def test_check_is_red_when_the_store_does_not_answer(tmp_path: Path) -> None:
    key = vitals("secret")[1].strip()

    code, out, _ = vitals("check", **SANDBOX, SECRET_KEY=key, REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")

    assert code == 1
    assert "\nRED The store cannot be used: Redis did not answer (the connection was refused)" in out


def test_check_is_red_when_the_stored_file_cannot_be_used(tmp_path: Path) -> None:
    no_database(tmp_path)

    code, out, _ = vitals("check", **SANDBOX, DATA_DIR=str(tmp_path))

    assert code == 1
    assert re.search(r"^ok  Settings are complete", out, re.MULTILINE)
    assert re.search(r"^RED The store cannot be used: .*SQLITE_NOTADB", out, re.MULTILINE)


def test_check_of_an_address_says_that_it_is_not_built_yet() -> None:
    code, _, err = vitals("check", "https://v.example", **SANDBOX)

    assert code == 2
    assert "not built yet" in err


@pytest.mark.parametrize("arguments", [["serve", "--port", "0"], ["serve", "--workers", "0"], ["demo", "--port", "x"]])
def test_a_bad_argument_is_refused(arguments: list[str]) -> None:
    assert vitals(*arguments, **SANDBOX)[0] == 2


def test_disconnect_with_nothing_stored_says_so(tmp_path: Path) -> None:
    code, out, _ = vitals("disconnect", **SANDBOX, DATA_DIR=str(tmp_path))

    assert code == 0
    assert "Nothing is stored" in out
    assert str(tmp_path) in out
    assert not list(tmp_path.iterdir()), "a wrong folder must not be filled"


@pytest.mark.process
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_store_that_cannot_be_opened_stops_the_start_with_a_reason(workers: str, tmp_path: Path) -> None:
    no_database(tmp_path / "data")

    arguments = ["serve", "--port", str(free_port()), "--workers", workers]
    done = run(*arguments, env={**SANDBOX, "DATA_DIR": str(tmp_path / "data")}, folder=tmp_path)

    assert done.returncode == 3
    assert "start_refused" in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(tmp_path / "data" / "vitals.sqlite3").execute("select 1 from records")
