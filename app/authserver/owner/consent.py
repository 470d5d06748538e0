"""What the consent page says about an authorization request: who asks, where the answer goes, what to beware of.

Pure: a request in, words out. A registered name is only a claim, so what can be relied on (the host that the answer
goes to, the host that vouches for the client) stands beside it.
"""

import unicodedata
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.authserver.clients.pinned import KNOWN_HOSTS
from app.authserver.records import Client
from app.authserver.redirects import LOOPBACK_HOSTS

NAME_MAX_CHARS = 60
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a sign that show nothing
_MARKS = 2  # that may stand on one letter; more of them climb over the lines around the name
_APPS = {"cursor": "the Cursor app on this computer"}  # the one scheme that `redirects` lets in beside https and http


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the answer to the request goes."""

    name: str  # "claude.ai", "this computer", "the Cursor app on this computer"
    detail: str | None  # host and port on this computer, when there is more to say
    this_computer: bool
    known: bool = False  # the host of an app that vitals knows


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks."""

    name: str  # as the client calls itself
    host: str | None  # the host that publishes the client's own document; None: nobody vouches for the name
    destination: Destination
    elsewhere: bool  # the result leaves for another host than the one that describes the client


def describe(client: Client, redirect_uri: str) -> Asker:
    """Put a request's client and redirect into words for the owner."""
    goes_to = destination(redirect_uri)
    apart = client.host is not None and client.host != urlsplit(redirect_uri).hostname
    vouched = client.host in KNOWN_HOSTS and goes_to.known
    return Asker(
        name=plain_name(client.name) or "An app without a name",
        host=client.host,
        destination=goes_to,
        elsewhere=apart and not goes_to.this_computer and not vouched,
    )


def parted(host: str) -> tuple[list[str], str]:
    """Part a host into the labels that its owner is free to choose, and the end that says whose it is.

    Without a list of all registries: the last two labels, or three where the last two look like `co.uk`.
    """
    name = host.partition(":")[0]
    labels = host.split(".")
    if name.replace(".", "").isdecimal():
        return [], host
    of_registry = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    kept = 3 if of_registry else 2
    return labels[:-kept], ".".join(labels[-kept:])


def destination(redirect_uri: str) -> Destination:
    """Name the place that a redirect URI leads to."""
    parts = urlsplit(redirect_uri)
    if parts.scheme not in {"http", "https"}:
        return Destination(_APPS.get(parts.scheme, f"an app on this computer ({parts.scheme}:)"), None, True)
    host = _ascii(parts.hostname or "")
    where = f"{host}:{parts.port}" if parts.port else host
    if host in LOOPBACK_HOSTS:
        return Destination("this computer", where, True)
    return Destination(where, None, False, parts.scheme == "https" and where in KNOWN_HOSTS)


def plain_name(name: str) -> str:
    """Make a name that a stranger chose safe to show: one line, bounded, nothing that hides or turns text around."""
    shown, marks = "", 0
    for char in unicodedata.normalize("NFC", name):
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in {"Mn", "Me"} else 0
        if char.isspace():
            shown += " "
        elif kind[0] != "C" and char not in _BLANK and marks <= _MARKS:
            shown += char
    shown = " ".join(shown.split())
    return shown if len(shown) <= NAME_MAX_CHARS else shown[: NAME_MAX_CHARS - 1] + "…"


def _ascii(host: str) -> str:
    """Write a host so that no letter of another script passes for a Latin one."""
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host.encode("ascii", "backslashreplace").decode()
