"""Which network addresses may be called to fetch a client's metadata document: public ones, and nothing else.

Python's own `is_global` is asked too, but not relied on: what it knows differs even between releases of one version.
The tables stand alone, and also refuse what can be reached but is no place for a document, such as sinks and tunnels.

Source: IANA, IPv4 and IPv6 special-purpose address registries (RFC 6890), IPv6 address space (RFC 4291).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC_V4 = tuple(
    IPv4Network(each)
    for each in (
        "0.0.0.0/8",  # this host, this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # behind a provider's NAT; a cloud's metadata at 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # public by its number, but inside Azure it is the machine's own host
        "169.254.0.0/16",  # link-local; the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, all of them; a cloud's metadata at 192.0.0.192
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112, a sink for misled queries
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # relays to 6to4
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # measurements
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
"""All there is of global unicast. Outside lie loopback, unique, link- and site-local addresses, multicast, and what
leads to any IPv4 address, private ones too: mapped, compatible, translated, NAT64 (64:ff9b::/96, 64:ff9b:1::/48)."""
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(each)
    for each in (
        "2001::/23",  # protocol assignments, all of them: Teredo leads to any IPv4 address, the others serve nothing
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to any IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Say whether an IP address belongs to the public internet. What is unclear is not public."""
    found = _parse(address)
    if found is None or not found.is_global:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in network for network in _NOT_PUBLIC_V4)
    return found in _PUBLIC_V6 and not any(found in network for network in _NOT_PUBLIC_V6)


def is_loopback(address: str) -> bool:
    """Say whether an IP address is this very machine."""
    found = _parse(address)
    return found is not None and found.is_loopback


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    if "%" in address:  # a zone index: link-local by definition
        return None
    try:
        return ip_address(address)
    except ValueError:
        return None
