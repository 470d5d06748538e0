"""Which network addresses may be called to fetch a client's metadata document: public ones, and nothing else.

Source: RFC 6890 and IANA's special-purpose registries, RFC 6052 and RFC 8215 (NAT64), RFC 3056 (6to4).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC = tuple(
    IPv6Network(each)
    for each in (
        "64:ff9b::/96",  # NAT64: leads to any IPv4 address, private ones too
        "64:ff9b:1::/48",
        "2002::/16",  # 6to4: the same
        "::/96",  # IPv4-compatible, long deprecated: the same
        "::ffff:0:0:0/96",  # IPv4-translated: the same
        "fec0::/10",  # site-local, deprecated, and still routed in places
        "5f00::/16",  # segment routing, never leaves a network
    )
)
_NOT_PUBLIC_V4 = (IPv4Network("192.88.99.0/24"), IPv4Network("192.0.0.0/24"))  # 6to4 relay, protocol assignments


def is_public(address: str) -> bool:
    """Say whether an IP address belongs to the public internet. What is unclear is not public."""
    found = _parse(address)
    if found is None or not found.is_global or found.is_multicast:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in network for network in _NOT_PUBLIC_V4)
    if found.ipv4_mapped is not None:
        return False  # a resolver has no reason to answer with ::ffff:a.b.c.d
    return not any(found in network for network in _NOT_PUBLIC)


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
