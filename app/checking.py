"""`vitals check`: what can be seen of the configuration without asking anyone outside."""

from collections.abc import Callable
from dataclasses import dataclass

from app.errors import StoreUnavailable
from app.parts import build_parts
from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at."""

    good: bool
    text: str


async def check_configuration(settings: Settings, now: Callable[[], float]) -> list[Line]:
    """Look at what the settings (already read, so complete) lead to.

    Raises:
        SettingsError: The kept key or the store's address cannot be used.
    """
    lines = [Line(True, f"Settings are complete. Apps connect to {settings.resource}")]
    if settings.oura_sandbox:
        lines.append(Line(True, "OURA_SANDBOX is on: sample data, and whoever reaches the server may approve an app."))
    else:
        lines += [
            Line(True, f"Who may sign in: {len(settings.owners)} address(es) in OURA_OWNER_EMAIL"),
            Line(True, f"Register exactly this redirect URI at Oura: {settings.redirect_uri}"),
        ]
    return [*lines, await _store(settings, now)]


async def _store(settings: Settings, now: Callable[[], float]) -> Line:
    kind = "Redis" if settings.redis_url.get_secret_value() else "SQLite"
    try:
        parts = build_parts(settings, now=now)
        try:
            await parts.store.ping()
        finally:
            await parts.aclose()
    except StoreUnavailable as exc:
        return Line(False, f"The store does not answer: {exc}")
    return Line(True, f"The store answers ({kind})")
