"""`vitals disconnect`: every owner leaves at once, also those who are no longer named in the settings."""

from collections.abc import Callable
from dataclasses import dataclass

from app.authserver.owner.leaving import disconnect
from app.parts import build_parts
from app.settings import Settings
from app.store.opening import FILE_NAME

_ELSEWHERE = "If vitals ran with another DATA_DIR or with REDIS_URL, set that and run this again."
_BY_HAND = "End it yourself at Oura: in the Oura account, under the connected applications."


@dataclass(frozen=True, slots=True)
class Disconnected:
    """What was done, in lines for a person; complete unless Oura did not confirm."""

    lines: tuple[str, ...]
    complete: bool


async def disconnect_all(settings: Settings, now: Callable[[], float]) -> Disconnected:
    """End every grant, erase every connection and its pin, and revoke at Oura.

    Raises:
        SettingsError: The key cannot be used.
        StoreUnavailable: Not everything is ended; run it again.
    """
    place = "Redis" if settings.redis_url.get_secret_value() else str(settings.data_dir.resolve() / FILE_NAME)
    if not settings.redis_url.get_secret_value() and not (settings.data_dir / FILE_NAME).exists():
        return Disconnected((f"Nothing is stored: there is no {place}. {_ELSEWHERE}",), complete=True)
    parts = build_parts(settings, now=now)
    try:
        oauth = None if settings.oura_sandbox else parts.oauth
        owners = dict.fromkeys([*settings.owners, *await parts.connections.owners()])
        left = [
            await disconnect(owner, grants=parts.authserver.grants, connections=parts.connections, oauth=oauth)
            for owner in owners
        ]
        apps = sum(one.apps for one in left) + await parts.authserver.grants.revoke_all()
    finally:
        await parts.aclose()
    connected = sum(one.connected for one in left)
    revoked = sum(one.revoked for one in left)
    lines = [
        f"Apps whose access was ended: {apps}.",
        f"Connections to Oura erased here: {connected}.",
        f"Of these, Oura confirmed that it revoked: {revoked}.",
    ]
    if revoked < connected:
        lines.append(
            "The others were not revoked: Oura could not be reached or did not confirm it, or what was stored does not "
            f"open under this SECRET_KEY. {_BY_HAND}"
        )
    lines.append(f"This was the store at {place}. {_ELSEWHERE}")
    return Disconnected(tuple(lines), complete=revoked == connected)
