"""What is wrong, or may become so, with where things are kept: the store, and the keys that open what is in it."""

from app.errors import SealBroken
from app.parts import Parts
from app.store.findings import Finding


async def examine(parts: Parts, *, thorough: bool = False) -> list[Finding]:
    """Look at store and keys.

    Args:
        parts: Of this process.
        thorough: Also what takes a moment; for the doctor.

    Raises:
        StoreUnavailable: The store does not do what is needed.
    """
    return [*await parts.store.examine(thorough=thorough), *await _sealed(parts)]


async def _sealed(parts: Parts) -> list[Finding]:
    """Say which sign-ins do not open, and under which key they were sealed. They are left as they are."""
    shut, open_ones = [], 0
    for owner in sorted(parts.settings.owners):
        try:
            open_ones += await parts.connections.load(owner) is not None
        except SealBroken as broken:
            shut.append(Finding("bad", f"A sign-in at Oura does not open. {broken}"))
    if shut:
        return shut
    keys = f"SECRET_KEY seals with key {parts.keys.ids[0]}"
    if older := parts.keys.ids[1:]:
        keys += f" and still opens what {', '.join(older)} sealed"
    return [Finding("good", f"{keys}. Sign-ins at Oura that are stored and open: {open_ones}")]
