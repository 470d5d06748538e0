"""Oura's scope names, in the one spelling used inside: requested bare, reported with `extapi:` in front."""

from collections.abc import Iterable

_PREFIX = "extapi:"
_RENAMED = {"spo2Daily": "spo2"}  # the OpenAPI document up to 1.37 has a name that never worked


def bare(scope: str) -> str:
    """Return the spelling used inside: `extapi:spo2Daily` → `spo2`."""
    name = scope.strip().removeprefix(_PREFIX)
    return _RENAMED.get(name, name)


def normalised(scopes: object) -> frozenset[str] | None:
    """Read the `scope` of a token answer or a callback.

    Returns:
        The scopes granted; None when the source did not say, which is not the same as "nothing".
    """
    names: Iterable[object]
    if isinstance(scopes, str):
        names = scopes.replace(",", " ").split()
    elif isinstance(scopes, list):
        names = scopes
    else:
        return None
    found = frozenset(bare(name) for name in names if isinstance(name, str) and name.strip())
    return found or None
