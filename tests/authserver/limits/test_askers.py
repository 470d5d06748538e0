"""Who asks: what of X-Forwarded-For is believed, and which addresses count as one."""

import io
from ipaddress import ip_address

import pytest
from starlette.requests import Request

from app.authserver.limits.askers import ANYONE, Askers, Trusted, client_address, parse
from tests.log_reader import written

__all__ = ["written"]

KEY = b"k" * 32
PROXY, OTHER_PROXY, CLIENT, STRANGER = "10.0.0.1", "10.0.0.2", "203.0.113.7", "198.51.100.9"


def sent_by(peer: str | None, *forwarded: str) -> Request:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    headers += [(b"x-forwarded-proto", b"ftp"), (b"x-forwarded-host", b"evil.example")]
    return Request({"type": "http", "headers": headers, "client": (peer, 1) if peer else None})


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "expected"),
    [
        pytest.param(CLIENT, [], [PROXY], CLIENT, id="no proxy"),
        pytest.param(STRANGER, [CLIENT], [PROXY], STRANGER, id="a stranger sends the header"),
        pytest.param(PROXY, [], [PROXY], PROXY, id="a proxy that says nothing"),
        pytest.param(PROXY, [CLIENT], [PROXY], CLIENT, id="one proxy"),
        pytest.param(PROXY, [f"{STRANGER}, {CLIENT}"], [PROXY], CLIENT, id="what the client wrote is left of it"),
        pytest.param(PROXY, [STRANGER, CLIENT], [PROXY], CLIENT, id="in two headers"),
        pytest.param(PROXY, [f"{STRANGER}, {CLIENT}, {OTHER_PROXY}"], ["10.0.0.0/8"], CLIENT, id="two proxies"),
        pytest.param(PROXY, [f"{STRANGER}, {CLIENT}, {OTHER_PROXY}"], [PROXY], OTHER_PROXY, id="one of two is named"),
        pytest.param(PROXY, [f"{OTHER_PROXY}, {PROXY}"], ["10.0.0.0/8"], OTHER_PROXY, id="all are proxies"),
        pytest.param(PROXY, [f"{STRANGER}, {CLIENT}"], ["*"], STRANGER, id="everyone is believed"),
        pytest.param(None, [CLIENT], ["*"], CLIENT, id="everyone, over a unix socket"),
        pytest.param(None, [CLIENT], [PROXY], None, id="a unix socket"),
        pytest.param(PROXY, [f"{CLIENT}, unknown"], [PROXY], PROXY, id="no address"),
        pytest.param(PROXY, ["", ","], [PROXY], PROXY, id="empty"),
        pytest.param(PROXY, [f"{CLIENT}:4711"], [PROXY], CLIENT, id="with a port"),
        pytest.param(PROXY, ["[2001:db8::7]:4711"], [PROXY], "2001:db8::7", id="IPv6 with a port"),
        pytest.param(PROXY, ["2001:db8::7"], [PROXY], "2001:db8::7", id="IPv6"),
        pytest.param(f"::ffff:{PROXY}", [CLIENT], [PROXY], CLIENT, id="a proxy on a socket for both families"),
        pytest.param(PROXY, [", ".join([CLIENT] + [OTHER_PROXY] * 5000)], ["10.0.0.0/8"], OTHER_PROXY, id="endless"),
        pytest.param(
            "172.16.5.2",
            [f"{STRANGER}, {CLIENT}, 66.241.124.230"],
            ["172.16.0.0/12", "fdaa::/16", "66.241.124.0/23", "2a09:8280::/32"],
            CLIENT,
            id="fly",
        ),
    ],
)
def test_the_nearest_address_that_is_no_trusted_proxy_counts(
    peer: str | None, forwarded: list[str], trusted: list[str], expected: str | None
) -> None:
    found = client_address(parse(peer or ""), forwarded, Trusted(trusted))

    assert found == (ip_address(expected) if expected else None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("203.0.113.7", "203.0.113.8", False, id="two addresses"),
        pytest.param("203.0.113.7", "::ffff:203.0.113.7", True, id="IPv4 inside IPv6"),
        pytest.param("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True, id="one /64"),
        pytest.param("2001:db8:1:2::1", "2001:db8:1:3::1", False, id="two /64"),
        pytest.param("160.79.104.1", "160.79.111.254", True, id="claude.ai"),
        pytest.param("160.79.104.1", "2607:6bc0::1", True, id="claude.ai, both families"),
        pytest.param("160.79.104.1", "160.79.112.1", False, id="beside claude.ai"),
    ],
)
def test_which_addresses_are_one(one: str, other: str, same: bool) -> None:
    askers = Askers([], key=KEY)

    assert (askers.of_address(parse(one)) == askers.of_address(parse(other))) is same


def test_two_64_of_one_48_are_two_who_share_a_site_and_ipv4_has_none() -> None:
    one, other, elsewhere, four = (
        Askers([], key=KEY).of_address(parse(address))
        for address in ("2001:db8:1:2::1", "2001:db8:1:3::1", "2001:db8:2:2::1", "203.0.113.7")
    )

    assert one.tag != other.tag
    assert one.site == other.site != elsewhere.site
    assert one.site not in {one.tag, None}
    assert four.site is None


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "10.1.2.3", "172.17.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fe80::1%eth0", "", "x"],
)
def test_an_address_that_nobody_has_on_the_internet_may_be_everybodys(address: str) -> None:
    assert Askers([], key=KEY).of_address(parse(address)) == ANYONE


def test_a_tag_tells_nothing_of_the_address_and_needs_the_key() -> None:
    tag = Askers([], key=KEY).of_address(parse("203.0.113.7")).tag

    assert "203" not in tag
    assert tag != Askers([], key=b"another").of_address(parse("203.0.113.7")).tag


def test_a_proxy_that_is_not_named_is_said_once_with_the_setting_and_without_an_address(
    written: io.StringIO,
) -> None:
    askers = Askers([PROXY], key=KEY)

    for n in range(3):
        askers.of(sent_by(f"192.168.0.{n}", CLIENT))

    said = written.getvalue()
    assert said.count("forwarded_address_not_believed") == 1
    assert "FORWARDED_ALLOW_IPS" in said
    assert "192.168" not in said
    assert CLIENT not in said


@pytest.mark.parametrize("request_", [sent_by(PROXY, CLIENT), sent_by(CLIENT), sent_by(None)])
def test_nothing_is_said_where_all_is_well(request_: Request, written: io.StringIO) -> None:
    Askers([PROXY], key=KEY).of(request_)

    assert written.getvalue() == ""


def test_a_request_is_left_as_it_was() -> None:
    request = sent_by(PROXY, CLIENT)
    before = dict(request.scope)

    assert Askers([PROXY], key=KEY).of(request).kind == "one"
    assert request.scope == before
