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


def vitals(*arguments: str, **env: str | None) -> tuple[int, str, str]:
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


def test_check_of_an_address_says_that_it_is_not_built_yet_and_help_does_not_offer_it() -> None:
    code, _, err = vitals("check", "https://v.example", **SANDBOX)
    _, shown, _ = vitals("check", "--help")

    assert code == 2
    assert "not built yet" in err
    assert "URL" not in shown
    assert "from outside, to an app, is not examined" in " ".join(shown.split())


RIGHT = {
    "PUBLIC_URL": "https://v.example",
    "OURA_OWNER_EMAIL": "a@example.com",
    "OURA_CLIENT_ID": "x",
    "OURA_CLIENT_SECRET": "y",
}


@pytest.mark.parametrize(
    ("env", "line"),
    [
        pytest.param({"PUBLIC_URL": None}, "PUBLIC_URL is not set: only apps on this computer", id="not set"),
        pytest.param(
            {"PUBLIC_URL": "https://vitals.example.com"}, "PUBLIC_URL still holds the example", id="example address"
        ),
        pytest.param(
            {"OURA_OWNER_EMAIL": "b@example.com, You@Example.com"},
            "OURA_OWNER_EMAIL still holds the example",
            id="example owner",
        ),
        pytest.param(
            {"OURA_ONWER_EMAIL": "canary@example.com"},
            "OURA_ONWER_EMAIL is no setting of vitals, so it does nothing. Did you mean OURA_OWNER_EMAIL?",
            id="misspelt",
        ),
        pytest.param({"PUBLIC_URI": "canary"}, "PUBLIC_URI is no setting .* mean PUBLIC_URL\\?", id="nearly"),
        pytest.param({"SECRETKEY_FILE": "canary"}, "SECRETKEY_FILE is no .* mean SECRET_KEY_FILE\\?", id="of a file"),
        pytest.param({"OURA_REGION": "canary"}, "OURA_REGION is no setting .* README.md lists", id="of Oura"),
        pytest.param({"OURA_SCOPES": "email daly"}, "OURA_SCOPES asks for daly, which vitals does not", id="scope"),
    ],
)
def test_check_doubts_what_is_sound_and_hardly_meant(env: dict[str, str | None], line: str, tmp_path: Path) -> None:
    code, out, _ = vitals("check", **{**RIGHT, "DATA_DIR": str(tmp_path), **env})

    assert code == 0
    assert len(re.findall(f"^!!  {line}", out, re.MULTILINE)) == 1
    assert "canary" not in out


def test_check_doubts_nothing_that_a_machine_sets_by_itself(tmp_path: Path) -> None:
    machine = {
        "HOSTNAME": "h",
        "LOGNAME": "l",
        "HOME": "/x",
        "HOST_IP": "1",
        "REDIS_PORT": "1",
        "LOG_LEVEL_DB": "",
        "TZ": "x",
    }

    _, out, _ = vitals("check", **RIGHT, **machine, DATA_DIR=str(tmp_path))

    assert "!! " not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--host", "nosuch.invalid", "--port", "8377"], "with --host or HOST", id="no such host"),
        pytest.param(["--host", "192.0.2.1", "--port", "8377"], "with --host or HOST", id="another machine's"),
    ],
)
def test_a_host_that_cannot_be_listened_on_is_not_called_a_port(arguments: list[str], words: str) -> None:
    code, _, err = vitals("serve", *arguments, **SANDBOX)

    assert code == 2
    assert words in err
    assert "--port" not in err


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
    assert done.stderr.count("start_refused") == 1
    assert "library_log" not in done.stderr
    assert done.stdout == "", "what is refused must not say that it listens"
    assert "Traceback" not in done.stderr
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(tmp_path / "data" / "vitals.sqlite3").execute("select 1 from records")
