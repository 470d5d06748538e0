"""`vitals disconnect` says what it could not do, above all when what was stored does not open any more."""

from pathlib import Path

import pytest

from app.disconnecting import disconnect_all
from app.identity import owner_key
from app.parts import build_parts
from app.settings import Settings, load_settings
from app.settings.secret_key import new_secret
from app.vault.connections import Connection

pytestmark = pytest.mark.anyio

NOW = 1_790_000_000.0
LINKED = Connection(
    source="oura",
    owner=owner_key("owner@example.com"),
    account_id="u1",
    access_token="access-canary",
    refresh_token="refresh-canary",
    expires_at=NOW + 3600,
    obtained_at=NOW,
    scopes=None,
    token_url="https://oura.invalid/oauth/token",
    timezone=None,
)


def settings(folder: Path, key: str, email: str = "owner@example.com") -> Settings:
    return load_settings(
        {
            "DATA_DIR": str(folder),
            "OURA_CLIENT_ID": "client",
            "OURA_CLIENT_SECRET": "secret",
            "OURA_OWNER_EMAIL": email,
            "OURA_REVOKE_URLS": "http://127.0.0.1:9/oauth/revoke",  # nobody there
            "SECRET_KEY": key,
        }
    )


async def link(settings: Settings) -> None:
    parts = build_parts(settings, now=lambda: NOW)
    await parts.connections.connect(LINKED)
    await parts.aclose()


@pytest.mark.parametrize("email", ["owner@example.com", "another@example.com"], ids=["named", "named no longer"])
@pytest.mark.parametrize("same_key", [True, False], ids=["key kept", "key lost"])
async def test_a_connection_that_cannot_be_revoked_is_erased_and_not_passed_over_in_silence(
    tmp_path: Path, same_key: bool, email: str
) -> None:
    key = new_secret()
    await link(settings(tmp_path, key))

    report = await disconnect_all(settings(tmp_path, key if same_key else new_secret(), email), lambda: NOW)

    text = "\n".join(report.lines)
    assert "erased here: 1" in text
    assert "revoked: 0" in text
    assert "End it yourself at Oura" in text
    assert not report.complete
    assert "canary" not in text
    again = await disconnect_all(settings(tmp_path, key), lambda: NOW)
    assert again.complete
    assert "erased here: 0" in again.lines[1]
