"""`vitals check`: what can be seen of the configuration without asking anyone outside."""

from collections.abc import Callable
from dataclasses import dataclass

from app.errors import VitalsError
from app.examining import examine
from app.parts import build_parts
from app.settings import Settings
from app.store.findings import Finding, Level

_MARKS: dict[Level, str] = {"good": "ok ", "unknown": "?? ", "warning": "!! ", "bad": "RED"}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at."""

    good: bool  # nothing has to be done before it can run
    text: str
    level: Level = "good"

    @property
    def mark(self) -> str:
        """What stands in front: fine, not known, may go wrong later, does not work."""
        return _MARKS[self.level if self.good else "bad"]


async def check_configuration(settings: Settings, now: Callable[[], float]) -> list[Line]:
    """Look at what the settings (already read, so complete) lead to."""
    lines = [Line(True, f"Settings are complete. Apps connect to {settings.resource}")]
    if settings.oura_sandbox:
        lines.append(Line(True, "OURA_SANDBOX is on: sample data, and whoever reaches the server may approve an app."))
    else:
        lines += [
            Line(True, f"Who may sign in: {len(settings.owners)} address(es) in OURA_OWNER_EMAIL"),
            Line(True, f"Register exactly this redirect URI at Oura: {settings.redirect_uri}"),
        ]
    return [*lines, *await _store(settings, now)]


async def _store(settings: Settings, now: Callable[[], float]) -> list[Line]:
    kind = "Redis" if settings.redis_url.get_secret_value() else "SQLite"
    try:
        parts = build_parts(settings, now=now)
        try:
            found = await examine(parts, thorough=True)
        finally:
            await parts.aclose()
    except VitalsError as exc:
        return [Line(False, f"The store cannot be used: {exc}")]
    return [Line(True, f"The store answers ({kind})"), *(_line(finding) for finding in found)]


def _line(finding: Finding) -> Line:
    return Line(finding.level != "bad", finding.text, finding.level)
