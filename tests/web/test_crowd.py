"""Who has to leave when one more connection comes than there are places."""

import resource
from dataclasses import dataclass

import pytest

from app.web import crowd
from app.web.crowd import Crowd, Standing, household


@dataclass(eq=False)
class Connection:
    address: str = "198.51.100.1"
    does: Standing | None = Standing.SENDING
    gone: bool = False

    def standing(self) -> Standing | None:
        return self.does

    def cut(self) -> None:
        self.gone = True


def joined(room: Crowd, *connections: Connection) -> tuple[Connection, ...]:
    for each in connections:
        room.joins(each)
    return connections


def left_of(connections: tuple[Connection, ...]) -> list[int]:
    return [number for number, each in enumerate(connections) if each.gone]


def test_up_to_the_limit_everybody_stays_and_beyond_it_the_number_stays() -> None:
    room = Crowd(3)
    before = joined(room, Connection(), Connection(), Connection())
    assert left_of(before) == []

    joined(room, Connection(), Connection())

    assert left_of(before) == [0, 1]
    assert len(room) == 3


def test_who_takes_no_answer_leaves_first_then_who_is_between_requests_then_who_sends_and_of_each_the_longest() -> None:
    room = Crowd(5)
    held = joined(room, Connection(), Connection(), Connection(), Connection(), Connection())
    for number, standing in ((3, Standing.IDLE), (2, Standing.IDLE), (4, Standing.UNREAD)):
        held[number].does = standing
        room.moved(held[number])
    order: list[int] = []
    for _ in range(5):
        room.joins(newcomer := Connection())
        order += [number for number in left_of(held) if number not in order]
        newcomer.does = None  # or it would be next to leave
        room.moved(newcomer)

    assert order == [4, 3, 2, 0, 1]


def test_who_is_being_answered_never_leaves_and_then_it_is_the_newcomer() -> None:
    room = Crowd(2)
    answered = joined(room, Connection(does=None), Connection(does=None))
    newcomer = Connection()

    room.joins(newcomer)

    assert left_of(answered) == []
    assert newcomer.gone
    assert len(room) == 2


def test_a_token_found_to_be_live_since_keeps_the_place_though_nobody_told() -> None:
    room = Crowd(2)
    upload, other = joined(room, Connection(), Connection())
    upload.does = None

    room.joins(Connection())

    assert (upload.gone, other.gone) == (False, True)


def test_who_once_brought_a_live_token_leaves_after_every_stranger_but_before_a_newcomer_is_turned_away() -> None:
    room = Crowd(3)
    app, stranger, _ = joined(room, Connection(does=Standing.KNOWN), Connection(), Connection(does=None))
    newcomers = joined(room, Connection())
    assert (app.gone, stranger.gone) == (False, True)
    newcomers[0].does = None
    room.moved(newcomers[0])

    joined(room, Connection())

    assert app.gone


def test_the_address_that_holds_most_loses_first_whatever_the_others_do() -> None:
    room = Crowd(5)
    browser = Connection("192.0.2.7", Standing.IDLE)
    flood = tuple(Connection("203.0.113.9") for _ in range(4))
    joined(room, browser, *flood)
    joined(room, *(Connection("203.0.113.9") for _ in range(50)))
    assert left_of(flood) == [0, 1, 2, 3]
    assert not browser.gone

    spread = tuple(Connection(f"203.0.113.{number}") for number in range(100, 103))
    joined(room, *spread)

    assert not browser.gone
    assert left_of(spread) == []
    joined(room, Connection("203.0.113.200"))
    assert browser.gone  # now that no address holds more than another


def test_behind_a_proxy_all_share_one_address_and_the_rule_of_age_decides() -> None:
    room = Crowd(3)
    held = joined(room, Connection("10.0.0.1"), Connection("10.0.0.1", None), Connection("10.0.0.1"))

    joined(room, Connection("10.0.0.1", None))

    assert left_of(held) == [0]


def test_many_addresses_of_one_network_are_one() -> None:
    assert household("2001:db8:0:1::1") == household("2001:db8:0:1:ffff::2") != household("2001:db8:0:2::1")
    assert household("::ffff:192.0.2.1") == household("192.0.2.1") != household("192.0.2.2")
    assert household("") == ""


def test_who_has_left_takes_no_place_and_is_not_asked_to_leave_again() -> None:
    room = Crowd(1)
    first, second = Connection(), Connection()
    room.joins(first)
    room.left(first)
    room.left(first)
    room.moved(first)
    room.joins(second)

    assert not first.gone
    assert not second.gone
    assert len(room) == 1


@pytest.mark.parametrize(
    ("soft", "found"),
    [
        (64, crowd.FEWEST),
        (256, 256 - crowd.OTHER_DESCRIPTORS),
        (1024, crowd.MOST),
        (resource.RLIM_INFINITY, crowd.MOST),
    ],
)
def test_places_leave_room_for_the_store_and_the_sources(
    monkeypatch: pytest.MonkeyPatch, soft: int, found: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))

    assert crowd.places() == found
