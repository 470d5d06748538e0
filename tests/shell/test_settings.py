import re
from pathlib import Path
from typing import Any

import pytest

from app.errors import SettingsError
from app.identity import SANDBOX_OWNER, owner_key
from app.settings import NAMES, Settings, load_settings

GOOD_KEY = "mK3v-0pX7wQz_Rt5LdB9hNfYc2GsJ8uE1aTiVoWnPxk"
OTHER_KEY = "Zq8xB1nT-6yLw0RfUe3Hk_9mVdCj5sPaG7oIi2tNbQr"
REQUIRED = {
    "OURA_CLIENT_ID": "client",
    "OURA_CLIENT_SECRET": "canary-client-secret",
    "OURA_OWNER_EMAIL": "owner@example.com",
}


def refusal(environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_required_settings_alone_make_a_start() -> None:
    settings = load_settings(REQUIRED)

    assert settings.public_url == "http://127.0.0.1:8000"
    assert settings.redirect_uri == "http://127.0.0.1:8000/callback/oura/"
    assert settings.data_dir == Path("data")
    assert settings.answer_max_chars == 100_000
    assert settings.owners == {owner_key("owner@example.com"): "owner@example.com"}
    assert settings.oura_token_urls[0].startswith("https://api.ouraring.com/")
    assert "ring_configuration" in settings.oura_scopes


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_missing_required_setting_is_named_with_what_to_set(name: str) -> None:
    text = refusal({key: value for key, value in REQUIRED.items() if key != name})

    assert text.startswith(f"{name} is not set")


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_an_empty_required_setting_counts_as_missing(name: str) -> None:
    assert refusal({**REQUIRED, name: " "}).startswith(f"{name} is not set")


def test_the_sandbox_needs_no_application_and_no_owner() -> None:
    settings = load_settings({"OURA_SANDBOX": "1"})

    assert settings.oura_sandbox
    assert settings.owners == {SANDBOX_OWNER: SANDBOX_OWNER}


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("PORT", "9001", "public_url", "http://127.0.0.1:9001"),
        ("HOST", "0.0.0.0", "host", "0.0.0.0"),
        ("PUBLIC_URL", "https://Vitals.Example.com:443/", "public_url", "https://vitals.example.com"),
        ("PUBLIC_URL", "https://vitals.example.com:8443", "public_url", "https://vitals.example.com:8443"),
        ("PUBLIC_URL", "http://localhost:8000", "public_url", "http://localhost:8000"),
        ("PUBLIC_URL", "http://[::1]:8000/", "public_url", "http://[::1]:8000"),
        ("OURA_CLIENT_ID", "abc", "oura_client_id", "abc"),
        ("OURA_OWNER_EMAIL", " A@Example.com , b@example.org ", "oura_owner_email", ("a@example.com", "b@example.org")),
        ("OURA_SANDBOX", "1", "oura_sandbox", True),
        ("OURA_SANDBOX", "0", "oura_sandbox", False),
        ("OURA_API_URL", "http://127.0.0.1:9/", "oura_api_url", "http://127.0.0.1:9"),
        ("OURA_AUTHORIZE_URL", "https://x.example/authorize", "oura_authorize_url", "https://x.example/authorize"),
        (
            "OURA_TOKEN_URLS",
            "https://a.example/t, https://b.example/t",
            "oura_token_urls",
            ("https://a.example/t", "https://b.example/t"),
        ),
        ("OURA_REVOKE_URLS", "https://a.example/r", "oura_revoke_urls", ("https://a.example/r",)),
        ("OURA_SCOPES", "daily, email personal", "oura_scopes", ("daily", "email", "personal")),
        ("DATA_DIR", "/var/lib/vitals", "data_dir", Path("/var/lib/vitals")),
        ("ANSWER_MAX_CHARS", "50000", "answer_max_chars", 50_000),
        ("FORWARDED_ALLOW_IPS", "10.0.0.0/8, ::1", "forwarded_allow_ips", ("10.0.0.0/8", "::1")),
        ("FORWARDED_ALLOW_IPS", "*", "forwarded_allow_ips", ("*",)),
        ("CHATGPT_TOOLS", "1", "chatgpt_tools", True),
        ("CHATGPT_TOOLS", "0", "chatgpt_tools", False),
        ("LOG_LEVEL", "WARNING", "log_level", "warning"),
        ("LOG_FORMAT", "json", "log_format", "json"),
    ],
)
def test_each_setting_is_read(name: str, value: str, attribute: str, expected: object) -> None:
    assert getattr(load_settings({**REQUIRED, name: value}), attribute) == expected


def test_all_that_an_owner_must_set_is_named_at_once() -> None:
    text = refusal({})

    assert text == (
        "OURA_OWNER_EMAIL is not set, nor: OURA_CLIENT_ID, OURA_CLIENT_SECRET; "
        "for example OURA_OWNER_EMAIL=you@example.com."
    )


@pytest.mark.parametrize("scopes", ["daily", "extapi:daily emails"])
def test_scopes_that_cannot_show_who_signs_in_are_refused(scopes: str) -> None:
    assert refusal({**REQUIRED, "OURA_SCOPES": scopes}).startswith("OURA_SCOPES lacks `email`")
    assert load_settings({**REQUIRED, "OURA_SCOPES": f"{scopes} extapi:email"})


def test_the_zone_is_read() -> None:
    zone = load_settings({**REQUIRED, "TIMEZONE": "Europe/Berlin"}).timezone

    assert zone is not None
    assert zone.key == "Europe/Berlin"


def test_several_keys_are_read_in_order() -> None:
    settings = load_settings({**REQUIRED, "SECRET_KEY": f"{GOOD_KEY},{OTHER_KEY}"})

    assert [key.get_secret_value() for key in settings.secret_key] == [GOOD_KEY, OTHER_KEY]


def test_redis_is_read_together_with_a_key() -> None:
    settings = load_settings({**REQUIRED, "SECRET_KEY": GOOD_KEY, "REDIS_URL": "rediss://u:p@redis.example.com:6379/0"})

    assert settings.redis_url.get_secret_value().startswith("rediss://")


@pytest.mark.parametrize(
    "url",
    ["redis+sentinel://a:26379,b/main", "rediss+sentinel://u:p@10.0.0.1:26379,[::1]:26379/main/2?ssl_ca_certs=/ca"],
)
def test_the_sentinels_of_redis_are_an_address_too(url: str) -> None:
    settings = load_settings({**REQUIRED, "SECRET_KEY": GOOD_KEY, "REDIS_URL": url})

    assert settings.redis_url.get_secret_value() == url


def test_redis_without_a_key_is_refused() -> None:
    assert refusal({**REQUIRED, "REDIS_URL": "redis://localhost:6379"}).startswith("SECRET_KEY is not set")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PUBLIC_URL", "http://vitals.example.com"),
        ("PUBLIC_URL", "https://vitals.example.com/app"),
        ("PUBLIC_URL", "https://vitals.example.com/?x=1"),
        ("PUBLIC_URL", "https://vitals.example.com/?"),
        ("PUBLIC_URL", "https://vitals.example.com#f"),
        ("PUBLIC_URL", "https://user:pw@vitals.example.com"),
        ("PUBLIC_URL", "https://vitals.example.com:0"),
        ("PUBLIC_URL", "https://vitals.example.com:99999"),
        ("PUBLIC_URL", "https://vitals.example.com:x"),
        ("PUBLIC_URL", "https://*.example.com"),
        ("PUBLIC_URL", "https://exämple.com"),
        ("PUBLIC_URL", "https://"),
        ("PUBLIC_URL", "vitals.example.com"),
        ("PUBLIC_URL", "ftp://vitals.example.com"),
        ("PUBLIC_URL", "http://127.0.0.1.evil.example"),
        ("PUBLIC_URL", "http://localhost.evil.example"),
        ("PUBLIC_URL", "https://[::1"),
        ("OURA_OWNER_EMAIL", "owner"),
        ("OURA_OWNER_EMAIL", "@example.com"),
        ("OURA_OWNER_EMAIL", "owner@example.com b@example.com"),
        ("OURA_OWNER_EMAIL", "owner@@example.com"),
        ("OURA_API_URL", "http://api.example.com"),
        ("OURA_AUTHORIZE_URL", "https://u:p@x.example/authorize"),
        ("OURA_TOKEN_URLS", "https://a.example/t,http://b.example/t"),
        ("OURA_TOKEN_URLS", ","),
        ("OURA_REVOKE_URLS", "nonsense"),
        ("OURA_SCOPES", ","),
        ("REDIS_URL", "http://redis.example.com"),
        ("REDIS_URL", "redis://"),
        ("REDIS_URL", "redis+sentinel://a:26379,b:26379"),
        ("REDIS_URL", "redis+sentinel://a:26379,:26379/main"),
        ("REDIS_URL", "redis+sentinel://a:port/main"),
        ("TIMEZONE", "Mars/Olympus"),
        ("TIMEZONE", "../../etc/passwd"),
        ("TIMEZONE", "/etc/localtime"),
        ("TIMEZONE", "localtime"),
        ("PORT", "eighty"),
        ("PORT", "0"),
        ("PORT", "70000"),
        ("ANSWER_MAX_CHARS", "many"),
        ("ANSWER_MAX_CHARS", "10"),
        ("OURA_SANDBOX", "perhaps"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_a_malformed_setting_stops_the_start_with_its_name_and_an_example(name: str, value: str) -> None:
    text = refusal({**REQUIRED, name: value})

    assert text.startswith(name)
    assert f"for example {name}=" in text


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("short-but-random-9f2k", id="short"),
        pytest.param("changeme" * 5, id="changeme"),
        pytest.param("please-Change_Me-1f8s9d7f6g5h4j3k2l1", id="changeme in disguise"),
        pytest.param("my-super-secret-key-for-production-use-1", id="secret"),
        pytest.param("0" * 64, id="one character"),
        pytest.param("0123456789abcdef" * 4, id="one piece repeated"),
        pytest.param("abcdefghijklmnopqrstuvwxyz0123456789", id="counting up"),
        pytest.param("09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7", id="published in a tutorial"),
    ],
)
def test_a_weak_key_is_refused_and_not_echoed(key: str) -> None:
    text = refusal({**REQUIRED, "SECRET_KEY": key})

    assert text.startswith("SECRET_KEY")
    assert "vitals secret" in text
    assert key not in text


def test_one_weak_key_among_good_ones_is_refused() -> None:
    assert refusal({**REQUIRED, "SECRET_KEY": f"{GOOD_KEY},tooshort"}).startswith("SECRET_KEY")


SECRET_LIKE = ["OURA_CLIENT_SECRET", "SECRET_KEY", "REDIS_URL", "OURA_OWNER_EMAIL", "PUBLIC_URL", "OURA_API_URL"]


@pytest.mark.parametrize("name", SECRET_LIKE)
def test_no_refusal_repeats_a_value_that_may_be_secret(name: str) -> None:
    environ = {**REQUIRED, name: "canary value", "PORT": "x", "OURA_TOKEN_URLS": "canary value"}

    with pytest.raises(SettingsError) as caught:
        load_settings(environ)

    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert not any("canary" in f"{exc}{exc!r}" for exc in chain if exc)


def test_even_the_librarys_own_error_does_not_repeat_a_value() -> None:
    with pytest.raises(ValueError, match="secret_key") as caught:
        Settings.model_validate({"oura_sandbox": "1", "secret_key": "canary"})

    assert "canary" not in str(caught.value)


def test_settings_do_not_show_secrets_when_printed() -> None:
    settings = load_settings({**REQUIRED, "SECRET_KEY": GOOD_KEY})

    assert "canary" not in repr(settings)
    assert GOOD_KEY not in repr(settings)


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_can_come_from_a_file(name: str, tmp_path: Path) -> None:
    value = {
        "PORT": "9002",
        "PUBLIC_URL": "https://v.example",
        "OURA_SANDBOX": "0",
        "OURA_OWNER_EMAIL": "f@example.com",
        "OURA_API_URL": "https://a.example",
        "OURA_SCOPES": "email daily",
        "OURA_AUTHORIZE_URL": "https://b.example",
        "OURA_TOKEN_URLS": "https://c.example",
        "OURA_REVOKE_URLS": "https://d.example",
        "SECRET_KEY": GOOD_KEY,
        "REDIS_URL": "redis://localhost",
        "TIMEZONE": "UTC",
        "ANSWER_MAX_CHARS": "5000",
        "FORWARDED_ALLOW_IPS": "*",
        "CHATGPT_TOOLS": "1",
        "LOG_LEVEL": "error",
        "LOG_FORMAT": "text",
    }.get(name, "from-a-file")
    path = tmp_path / "value"
    path.write_text(value + "\n")
    others = {key: text for key, text in {**REQUIRED, "SECRET_KEY": OTHER_KEY}.items() if key != name}

    settings = load_settings({**others, f"{name}_FILE": str(path)})

    assert _flat(getattr(settings, name.lower())) == _flat(
        getattr(load_settings({**others, name: value}), name.lower())
    )
    assert name.lower() in settings.model_fields_set


def _flat(value: Any) -> Any:
    return tuple(map(_flat, value)) if isinstance(value, tuple) else getattr(value, "get_secret_value", lambda: value)()


def test_a_setting_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("x")

    assert "Both OURA_CLIENT_ID and OURA_CLIENT_ID_FILE" in refusal(
        {**REQUIRED, "OURA_CLIENT_ID_FILE": str(tmp_path / "id")}
    )


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe", b"x" * 70_000])
def test_an_unusable_file_is_refused_without_its_content(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "value"
    if content is not None:
        path.write_bytes(content)
    environ = {key: value for key, value in REQUIRED.items() if key != "OURA_CLIENT_SECRET"}

    text = refusal({**environ, "OURA_CLIENT_SECRET_FILE": str(path)})

    assert text.startswith("OURA_CLIENT_SECRET_FILE names a")
    assert "xxxx" not in text


def test_settings_cannot_be_changed() -> None:
    settings = load_settings(REQUIRED)

    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1


def test_every_setting_of_the_contract_exists_and_no_other() -> None:
    contract = """PUBLIC_URL OURA_CLIENT_ID OURA_CLIENT_SECRET OURA_OWNER_EMAIL OURA_SANDBOX SECRET_KEY DATA_DIR
        REDIS_URL TIMEZONE ANSWER_MAX_CHARS OURA_API_URL OURA_AUTHORIZE_URL OURA_TOKEN_URLS OURA_REVOKE_URLS OURA_SCOPES
        LOG_LEVEL LOG_FORMAT HOST PORT CHATGPT_TOOLS FORWARDED_ALLOW_IPS"""

    assert set(NAMES) == set(contract.split())


def test_every_setting_is_read_by_the_code_that_wires() -> None:
    wiring = [*Path("app").glob("*.py"), Path("app/settings/model.py")]
    code = "".join(path.read_text() for path in wiring)

    unread = [name for name in Settings.model_fields if not re.search(rf"(settings|self)\.{name}\b", code)]

    assert unread == []


@pytest.mark.parametrize("value", ["proxy.example", "10.0.0.1/8", "10.0.0.0/8,*", "10.0.0.0/40", "unix:"])
def test_a_proxy_that_no_address_could_equal_is_refused(value: str) -> None:
    assert refusal({**REQUIRED, "FORWARDED_ALLOW_IPS": value}).startswith("FORWARDED_ALLOW_IPS holds ")
