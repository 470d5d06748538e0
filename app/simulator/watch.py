"""What the simulator saw: requests and counts. Never a token, a code, a secret, or a `state`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

_SHOWN = ("start_date", "end_date", "start_datetime", "end_datetime", "latest", "fields", "next_token")


@dataclass(frozen=True, slots=True)
class Seen:
    """One request; of its parameters only those that carry no secret."""

    method: str
    path: str
    query: Mapping[str, str]
    status: int | None  # None: no answer was sent
    at: float


@dataclass(slots=True)
class Counts:
    """How often what was asked."""

    authorizations: int = 0  # codes issued
    exchanges: int = 0  # requests to spend a code
    refreshes: int = 0  # requests to spend a refresh token
    refreshed: int = 0  # those that were granted
    refused: int = 0  # `invalid_grant` answers
    revocations: int = 0
    data: Counter[str] = field(default_factory=Counter)  # by path

    @property
    def data_requests(self) -> int:
        """All requests for data."""
        return self.data.total()


@dataclass(slots=True)
class Watch:
    """The log and the counts."""

    log: list[Seen] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)

    def note(self, method: str, path: str, query: Mapping[str, str], status: int | None, at: float) -> None:
        """Write a request down."""
        self.log.append(Seen(method, path, {name: query[name] for name in _SHOWN if name in query}, status, at))
        if "/usercollection/" in path:
            self.counts.data[path] += 1

    def state(self) -> dict[str, object]:
        """Return the counts as plain values."""
        return asdict(self.counts) | {"data": dict(self.counts.data), "data_requests": self.counts.data_requests}
