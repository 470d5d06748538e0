"""`vitals check`: what can be seen of the configuration without asking anyone outside."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.errors import VitalsError
from app.examining import examine
from app.parts import build_parts
from app.settings import Settings
from app.settings.misnamed import misnamed
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


async def check_configuration(
    settings: Settings, now: Callable[[], float], environ: Mapping[str, str] | None = None
) -> list[Line]:
    """Look at what the settings (already read, so complete) lead to, and what in `environ` may be meant for one."""
    lines = [Line(True, f"Settings are complete. Apps connect to {settings.resource}")]
    if settings.oura_sandbox:
        lines.append(Line(True, "OURA_SANDBOX is on: sample data, and whoever reaches the server may approve an app."))
    else:
        lines += [
            Line(True, f"Who may sign in: {len(settings.owners)} address(es) in OURA_OWNER_EMAIL"),
            Line(True, f"Register exactly this redirect URI at Oura: {settings.redirect_uri}"),
        ]
    lines += [Line(True, text, "warning") for text in _doubts(settings, environ or {})]
    return [*lines, *await _store(settings, now)]


def _doubts(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """Say what is well-formed and yet hardly meant."""
    yield from misnamed(environ)
    if "public_url" not in settings.model_fields_set:
        yield "PUBLIC_URL is not set: only apps on this computer can connect."
    if settings.public_url in _examples("public_url"):
        yield f"PUBLIC_URL still holds the example ({settings.public_url}). Put your own address there, and at Oura."
    if set(settings.oura_owner_email) & _examples("oura_owner_email"):
        yield "OURA_OWNER_EMAIL still holds the example. Put the address of your Oura account there, or nobody gets in."
    known = set(Settings.model_fields["oura_scopes"].default)
    if strange := [scope for scope in settings.oura_scopes if scope.removeprefix("extapi:") not in known]:
        yield f"OURA_SCOPES asks for {', '.join(strange)}, which vitals does not know. Nothing here reads it."


def _examples(field: str) -> set[str]:
    return set(Settings.model_fields[field].examples or ())


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
