"""The sources this server has, and how a collection is found in them by the name a model gives."""

from collections.abc import Iterator, Sequence
from functools import cache

from app.errors import BadRequest
from app.sources.base import Collection, Source
from app.sources.meant import meant

_SHOWN = 60  # characters of an unknown name that are repeated


class Sources:
    """Every source, in order."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def find(self, name: str) -> tuple[Source, Collection]:
        """Find `oura.daily_sleep`, or `daily_sleep` while only one source has it. Case does not matter.

        Raises:
            BadRequest: There is none, or several; the text names what is near.
        """
        wanted = name.strip().casefold()
        found = [
            (source, collection)
            for source in self._sources
            for collection in source.collections.values()
            if wanted in _spellings(collection.source, collection.name)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(collection.qualified for _, collection in found)
            raise BadRequest(f"Several sources have that collection: say which of {choices}.")
        raise BadRequest(f'There is no collection "{_shown(name)}". {self._near(wanted)}')

    def _near(self, wanted: str) -> str:
        collections = [collection for source in self._sources for collection in source.collections.values()]
        if likely := meant(wanted, collections):
            return f"Did you mean {', or '.join(map(str, likely))}? `health_catalog` lists them all."
        return f"There are: {', '.join(sorted(collection.qualified for collection in collections))}."


@cache
def _spellings(source: str, name: str) -> tuple[str, str]:
    return f"{source}.{name}".casefold(), name.casefold()


def _shown(name: str) -> str:
    kept = "".join(char if char.isprintable() else " " for char in name[:_SHOWN])
    return kept + "…" if len(name) > _SHOWN else kept
