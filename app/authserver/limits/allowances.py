"""How often strangers may ask for what costs us something, as numbers. Nobody is counted here; `rates` does that.

A person's own server sees a handful of registrations and sign-ins a day. The numbers leave room for many times that,
from one address too: behind one there may be a whole company, and behind those of an assistant's provider everyone who
uses it. Nothing is refused for where it comes from. An app that is connected meets none of this: neither its questions
nor the renewal of its access is counted, whoever shares its address.
"""

from collections.abc import Iterable
from dataclasses import dataclass

SITE = 5
"""A /48 of IPv6 has so many times what one of its /64 has. It may be one customer, to whom thousands of addresses cost
nothing, or, with some mobile networks and hosts, thousands of people: for them five is a hundred sign-ins in a window.
Who shares it with somebody that uses this up waits until its window ends, like those behind one address of IPv4."""
WINDOW_S = 600  # short, so that whoever is refused by mistake waits minutes
DAY_S = 24 * 3600

# The redirect URIs of assistants whose servers register from addresses that many people share and that change.
_SHARED_APPS = ("https://claude.ai/", "https://claude.com/", "https://chatgpt.com/")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be asked for within `WINDOW_S`.

    While all together stay below `crowd`, an address has `each`. Above it, an address has `crowded`: who asked before
    in this window is refused first, and a new one still gets in.
    """

    name: str
    each: int
    crowded: int
    shared: int  # for a network that is known to be shared, all of it together, crowd or not
    crowd: int
    total: int | None = None  # all together, refused beyond; None where more of it leaves nothing behind


@dataclass(frozen=True, slots=True)
class Budget:
    """How many of something there may be within a time, whoever it is for."""

    name: str
    amount: int
    per_s: int


REGISTRATION = Allowance("registration", each=30, crowded=2, shared=1000, crowd=300)
SHARED_APP_REGISTRATIONS = Budget("shared-app-registration", 300, WINDOW_S)
# A sign-in under way is a record of up to 7 kB for ten minutes: 35 MB at most, and 5 MB as a rule.
SIGN_IN = Allowance("sign-in", each=20, crowded=2, shared=500, crowd=500, total=5000)
DOCUMENT = Allowance("document", each=20, crowded=4, shared=1000, crowd=600)
FAILED_AUTHENTICATION = Allowance("failed-authentication", each=30, crowded=30, shared=1000, crowd=3000)

# What strangers cause to be written down for a day. Beyond it they are served without a record.
CLIENT_RECORDS = Budget("client-records", 200, DAY_S)
DOCUMENT_RECORDS = Budget("document-records", 200, DAY_S)


def of_shared_app(redirect_uris: object) -> bool:
    """Say whether these are redirect URIs of such an assistant alone. Anyone may claim that; it opens nothing."""
    return (
        isinstance(redirect_uris, Iterable)
        and bool(redirect_uris)
        and all(isinstance(each, str) and each.startswith(_SHARED_APPS) for each in redirect_uris)
    )
