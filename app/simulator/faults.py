"""Things that go wrong on demand: before a request is handled, to its answer, or to the connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

import anyio

Kind = Literal[
    "latency",  # wait `seconds` first
    "status",  # answer `status` with `body`, unhandled
    "html",  # answer an HTML page with `status` (200 and 502 are the ones seen), unhandled
    "cut",  # handle it, then end the connection without an answer
    "cut_before",  # end the connection without handling it
    "hold",  # handle it, then keep the answer until `release()`
    "cut_body",  # handle it, then end the connection after half of the body
    "drip",  # send the body byte by byte, `seconds` apart
    "truncate",  # send the first half of the body, as if it were all
    "gigantic",  # let `size_mb` of blanks follow the body
    "bomb",  # the same, compressed to next to nothing
    "wrong_types",  # numbers become words, lists become objects
    "repeat_cursor",  # `next_token` of the answer leads to the same page again
    "endless",  # there is always a next page, each under a new cursor
]
KINDS: tuple[Kind, ...] = (
    "latency", "status", "html", "cut", "cut_before", "hold", "cut_body", "drip", "truncate", "gigantic", "bomb",
    "wrong_types", "repeat_cursor", "endless",
)  # fmt: skip


class ConnectionCut(ConnectionResetError):
    """What an in-process client sees of a cut; give `Faults.cut_error` its own transport's error instead."""


@dataclass(slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: What happens.
        path: A shell pattern for the request's path.
        times: For how many requests more; None until cleared.
        method: Only for this method; None for any.
        status: For `status` and `html`.
        body: For `status`: JSON value; None for the usual one of that status.
        headers: Sent with `status`.
        seconds: For `latency` and `drip`; for 429, `Retry-After`.
        size_mb: For `gigantic` and `bomb`.
    """

    kind: Kind
    path: str = "*"
    times: int | None = 1
    method: str | None = None
    status: int = 503
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 1
    size_mb: int = 64


class Faults:
    """The faults in force, in the order of adding."""

    def __init__(self) -> None:
        self.cut_error: Callable[[], Exception] = lambda: ConnectionCut("The connection was cut.")
        self.held = 0  # answers kept at the moment
        self.spent = anyio.Event()  # set when an answer is first held: it has been handled and is not sent
        self._released = anyio.Event()
        self._faults: list[Fault] = []

    def add(self, kind: Kind, path: str = "*", **options: Any) -> Fault:
        """Add a fault and return it; `fault.times` then counts down.

        Raises:
            ValueError: There is no such kind.
        """
        if kind not in KINDS:
            raise ValueError(f"No fault {kind!r}. There are: {', '.join(KINDS)}.")
        fault = Fault(kind, path, **options)
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults and let held answers go."""
        self._faults.clear()
        self.release()

    def take(self, path: str, method: str) -> list[Fault]:
        """Return the faults for a request, and count it."""
        struck = [
            fault
            for fault in self._faults
            if fault.times != 0 and fault.method in {None, method} and fnmatchcase(path, fault.path)
        ]
        for fault in struck:
            if fault.times is not None:
                fault.times -= 1
        self._faults = [fault for fault in self._faults if fault.times != 0]
        return struck

    async def hold(self) -> None:
        """Wait for `release`."""
        self.held += 1
        self.spent.set()
        try:
            await self._released.wait()
        finally:
            self.held -= 1

    def release(self) -> None:
        """Let held answers go; the next ones are held anew."""
        self._released.set()
        self._released, self.spent = anyio.Event(), anyio.Event()
