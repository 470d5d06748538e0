"""Finds what was probably meant as a setting and is none: a name that nobody reads, so that its value does nothing."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from app.settings.reading import NAMES

_ALL = (*NAMES, *(f"{name}_FILE" for name in NAMES))
_ALIKE = 0.8  # one or two wrong letters; HOSTNAME and LOGNAME, which every machine sets, are further off
_LONGEST = 60


def misnamed(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each such name; never a value.

    Whatever begins with OURA_ is meant for us; of other names, those that nearly are a setting's.
    """
    for name, value in sorted(environ.items()):
        if name in _ALL or not value.strip() or len(name) > _LONGEST:
            continue
        near = get_close_matches(name.upper(), _ALL, n=1, cutoff=_ALIKE)
        if near:
            yield f"{name} is no setting of vitals, so it does nothing. Did you mean {near[0]}?"
        elif name.upper().startswith("OURA_"):
            yield f"{name} is no setting of vitals, so it does nothing. README.md lists the settings."
