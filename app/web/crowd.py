"""Bounds how many connections one process holds, and says who leaves when one more comes.

Each connection takes a descriptor, and the store and the sources need descriptors too: where the operating system has
none left, nobody gets in, and nobody who is in is answered. So there are places for connections, fewer than there are
descriptors, and the newest always gets one: from whoever keeps one without being answered. A stranger who opens
thousands drives out their own.
"""

import resource
from enum import IntEnum
from typing import Protocol

from app import logs
from app.authserver.limits.askers import counted_as, parse

# Of one process at most: the store (32 to Redis), Oura (32 for data, 32 for tokens), documents of apps, files.
OTHER_DESCRIPTORS = 128
FEWEST = 32
MOST = 512  # each may hold 64 kB of a head or a form; the apps of one household need a few dozen

log = logs.get(__name__)


class Standing(IntEnum):
    """What a connection does while nothing of it is being answered, in the order in which places are taken."""

    UNREAD = 0  # does not take its answer: none to a stranger is so long that an honest one would be seen at it
    IDLE = 1  # between two requests, or after the last
    SENDING = 2  # a head or a body, or nothing yet
    KNOWN = 3  # any of these, but it brought a live token before


class Member(Protocol):
    """One connection."""

    address: str

    def standing(self) -> Standing | None:
        """Say what it does; None: a request of it is being answered, or came with a live token."""

    def cut(self) -> None:
        """End it at once."""


def places() -> int:
    """Return how many connections this process has room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST
    return max(FEWEST, min(MOST, soft - OTHER_DESCRIPTORS))


def household(host: str) -> str:
    """Return what is counted as one address."""
    address = parse(host)
    return host if address is None else counted_as(address).hex()  # a socket of the file system has none


class Crowd:
    """The connections of one process.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._members: dict[Member, Standing | None] = {}
        # Each in the order in which they took up their standing, so the first has waited longest.
        self._waiting: dict[Standing, dict[Member, None]] = {standing: {} for standing in Standing}
        self._held: dict[str, int] = {}  # places that can be taken from an address, without those of known ones
        self._warned = False

    def __len__(self) -> int:
        return len(self._members)

    def joins(self, newcomer: Member) -> None:
        """Give a new connection a place, if need be that of another."""
        self._members[newcomer] = None
        self.moved(newcomer)
        if len(self._members) > self.most:
            self._warn()
            leaving = self._first_to_leave(newcomer)
            self.left(leaving)
            leaving.cut()

    def moved(self, member: Member) -> None:
        """Take note that a connection may have another standing than before. One that has left is no member."""
        if member in self._members:
            self._stand(member, member.standing())

    def left(self, member: Member) -> None:
        """Forget a connection."""
        if member in self._members:
            self._stand(member, None)
            del self._members[member]

    def _stand(self, member: Member, now: Standing | None) -> None:
        before = self._members[member]
        if now is before:
            return
        self._members[member] = now
        if before is not None:
            del self._waiting[before][member]
            self._count(member, before, -1)
        if now is not None:
            self._waiting[now][member] = None
            self._count(member, now, +1)

    def _count(self, member: Member, standing: Standing, change: int) -> None:
        if standing is Standing.KNOWN:
            return
        held = self._held.get(member.address, 0) + change
        if held:
            self._held[member.address] = held
        else:
            del self._held[member.address]

    def _first_to_leave(self, newcomer: Member) -> Member:
        """Return whose place is taken: of the address that can lose most, the standing first, then the longest wait.

        Behind a proxy all share one address, and the rest of the rule decides. The newcomer itself only goes where
        everybody else is being answered.
        """
        while (found := self._first_waiting(newcomer)) is not None:
            if found.standing() is self._members[found]:
                return found
            self.moved(found)  # a token was found to be live meanwhile, which nobody tells
        return newcomer

    def _first_waiting(self, newcomer: Member) -> Member | None:
        most = max(self._held.values(), default=0)
        for standing, queue in self._waiting.items():
            for member in queue:
                losing = standing is Standing.KNOWN or self._held[member.address] == most
                if losing and member is not newcomer:
                    return member
        return None

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True  # once for each process: strangers can bring it about as often as they like
            log.warning(
                "connections_full",
                count=self.most,
                reason="As many connections are open as this process holds at most. Each new one takes the place of "
                "one that waits without being answered.",
            )
