"""Who asks, as far as that can be told before anyone has signed in: by network address, and never in plain.

Behind a proxy every connection comes from the proxy, and the address is in X-Forwarded-For, where anyone may write
anything. It is believed from the proxies that FORWARDED_ALLOW_IPS names, and of it the rightmost address that is none
of theirs: what stands further left was sent along. The setting has uvicorn's name and meaning, but uvicorn's own
middleware is not used: it also takes the scheme from the request, and any text for an address. Here nothing of the
request is changed, so no header can reach what we answer.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

from starlette.requests import Request

from app import logs

log = logs.get(__name__)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOPS = 32  # of a chain of proxies that is longer, only the end is looked at
_V6_PREFIX = 64  # what one household or machine is given; within it, addresses are free to change
_V6_SITE = 48  # what a customer is given who asks for many of these: 65,536 at the price of one

# Source: Anthropic, "IP addresses" (outbound), as of autumn 2026. OpenAI's list changes too often to be written here;
# for ChatGPT see `allowances.of_shared_app`. A network that is missing has the allowance of any other address.
_SHARED: dict[str, tuple[Network, ...]] = {"claude": (ip_network("160.79.104.0/21"), ip_network("2607:6bc0::/48"))}

# Addresses that nobody on the internet has: who comes from here stands behind something, and may be everybody.
_BEHIND_SOMETHING = tuple(
    ip_network(each)
    for each in (
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
        "::1/128", "fc00::/7", "fe80::/10",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks.

    `one` is an address, or a /64 of IPv6. `shared` is a network that many people are known to share. `anyone` has no
    address that could be told from others: on loopback, in a private network, or behind a proxy that is not named.
    `site` is the /48 around a /64: who holds one can ask from thousands of the other.
    """

    tag: str
    kind: Literal["one", "shared", "anyone"]
    site: str | None = None


ANYONE = Asker("anyone", "anyone")


class Trusted:
    """The proxies whose X-Forwarded-For is believed.

    Args:
        named: Addresses and networks; `*` alone means every one.
    """

    def __init__(self, named: Iterable[str]) -> None:
        named = tuple(named)
        self.everyone = "*" in named
        self._networks = tuple(ip_network(each) for each in named if each != "*")

    def __contains__(self, address: Address | None) -> bool:
        return self.everyone or (address is not None and any(address in each for each in self._networks))


class Askers:
    """Tells askers apart.

    Args:
        trusted: See `Trusted`.
        key: Makes tags of addresses, so that none stands in the store in plain.
    """

    def __init__(self, trusted: Iterable[str], *, key: bytes) -> None:
        self._trusted = Trusted(trusted)
        self._key = key
        self._warned = False

    def of(self, request: Request) -> Asker:
        """Return who sent a request."""
        peer = parse(request.client.host if request.client else "")
        forwarded = request.headers.getlist("x-forwarded-for")
        if forwarded and peer not in self._trusted and not self._warned:
            self._warned = True  # once for each process: a stranger may send the header too
            log.warning(
                "forwarded_address_not_believed",
                reason="X-Forwarded-For came from an address that FORWARDED_ALLOW_IPS does not name. If it is your "
                "proxy's, name it there: until then those behind it are not told apart.",
            )
        return self.of_address(client_address(peer, forwarded, self._trusted))

    def of_address(self, address: Address | None) -> Asker:
        """Return who has an address."""
        if address is None or any(address in network for network in _BEHIND_SOMETHING):
            return ANYONE
        for name, networks in _SHARED.items():
            if any(address in network for network in networks):
                return Asker(name, "shared")
        site = self._tag(address.packed[: _V6_SITE // 8]) if isinstance(address, IPv6Address) else None
        return Asker(self._tag(counted_as(address)), "one", site)

    def _tag(self, packed: bytes) -> str:
        return hmac.new(self._key, packed, hashlib.sha256).hexdigest()[:32]


def client_address(peer: Address | None, forwarded: Sequence[str], trusted: Trusted) -> Address | None:
    """Return the address that a request came from.

    Args:
        peer: Who connected.
        forwarded: The values of X-Forwarded-For, in order; each proxy adds its own peer at the right.
        trusted: The proxies that are believed.

    Returns:
        The nearest address that is not a trusted proxy. If all are, the leftmost; with `*` that is what uvicorn takes
        too, and whatever the sender wrote there, unless the proxy replaces the header. None: no address.
    """
    hops = [parse(each) for each in ",".join(forwarded).split(",")[-_HOPS:]] if forwarded else []
    nearest = peer
    for hop in reversed(hops):
        if nearest not in trusted or hop is None:  # what no trusted proxy vouches for, or what is no address
            break
        nearest = hop
    return nearest


def counted_as(address: Address) -> bytes:
    """Return what is the same for all addresses that are counted as one: all of IPv4, of IPv6 the /64."""
    return address.packed[: _V6_PREFIX // 8]  # IPv4 is shorter


def parse(text: str) -> Address | None:
    """Read an address as proxies write it, with or without a port; IPv4 inside IPv6 counts as IPv4."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
