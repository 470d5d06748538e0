"""Which addresses may be called: no special-purpose one, whatever this Python's own tables say, and all around them."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest

from app.authserver.clients.addresses import is_public

# IANA's special-purpose registries, RFC 4291, and addresses that clouds keep for themselves.
SPECIAL = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::/96",
    "::ffff:0:0/96",
    "::ffff:8.8.8.8/128",
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "1000::/4",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "4000::/3",
    "5f00::/16",
    "fc00::/7",
    "fd00:ec2::254/128",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]


def _ends(network: str) -> list[str]:
    found = ip_network(network)
    return [str(found[0]), str(found[found.num_addresses // 2]), str(found[-1])]


@pytest.mark.parametrize("network", SPECIAL)
@pytest.mark.parametrize("python_says", [None, True], ids=["this Python", "a Python that knows none of it"])
def test_a_special_address_is_not_public(
    network: str, python_says: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if python_says is not None:
        for kind in (IPv4Address, IPv6Address):
            monkeypatch.setattr(kind, "is_global", python_says)

    assert [each for each in _ends(network) if is_public(each)] == []


def test_what_only_a_newer_python_calls_special_is_not_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPv4Address, "is_global", False)

    assert not is_public("8.8.8.8")


@pytest.mark.parametrize(
    "network",
    [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    ],
)  # fmt: skip
def test_the_addresses_around_it_are_public(network: str) -> None:
    found = ip_network(network)
    above, below = (found.broadcast_address + 1, found.network_address - 1 if int(found.network_address) else None)

    assert is_public(str(above))
    assert below is None or is_public(str(below))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "223.255.255.254", "2000::1", "2001:200::1", "2606:4700::1111"]
)
def test_an_ordinary_address_is_public(address: str) -> None:
    assert ip_address(address).is_global
    assert is_public(address)


@pytest.mark.parametrize(
    "address", ["", "app.example", "8.8.8", "8.8.8.8:443", "[2606:4700::1111]", "fe80::1%eth0", "010.8.8.8"]
)
def test_what_is_no_plain_address_is_not_public(address: str) -> None:
    assert not is_public(address)
