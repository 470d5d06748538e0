"""A process that stands still past its lease, while another renews, and then goes on: its late write is refused.

Real processes and real signals: no clock of their own tells such a process that it was away.
"""

import pytest

from app.vault.connections import Connection, Connections
from tests.store.conftest import Place
from tests.vault.ada import ADA, KEYS
from tests.vault.loopback import TokenServer
from tests.vault.working import Process, clock, linked, server

__all__ = ["clock", "linked", "server"]

pytestmark = [pytest.mark.anyio, pytest.mark.process]

SHORT = {"lease_ttl_s": 2.4, "deadline_s": 1.2}  # what is left when it goes on is nothing


async def stored(place: Place) -> Connection:
    store = place.open()
    connection = await Connections(store, KEYS).load(ADA.owner)
    await store.aclose()
    assert connection is not None
    return connection


def overtaken(place: Place, step: str) -> tuple[list[str], list[str]]:
    """Let one stand still at a step while another does it all; return what the other and the one said."""
    slow, quick = Process(place, step=step, end="stop", timing=SHORT), Process(place)
    slow.go()
    slow.until_it_stands_still()
    quick.go()  # it waits for the lease, which nobody gives back
    _, quick_said = quick.end()
    slow.go_on()
    _, slow_said = slow.end()
    return quick_said, slow_said


@pytest.mark.parametrize("step", ["leased", "decided", "noted"])
async def test_standing_still_before_it_spends_it_sends_nothing_any_more(
    linked: Place, server: TokenServer, step: str
) -> None:
    before = await stored(linked)

    quick_said, slow_said = overtaken(linked, step)

    assert quick_said == ["access-1"]
    assert server.presented == ["refresh-0"]
    assert server.alive
    after = await stored(linked)
    assert (after.access_token, after.refresh_token) == ("access-1", "refresh-1")
    assert after.generation == before.generation + 1
    # Who had read nothing yet finds the other's token; who had is told that it was too late.
    assert slow_said == ["access-1"] or "given up before anything was sent" in slow_said[0]


async def test_standing_still_between_spending_and_storing_it_revives_no_credential_that_was_found_dead(
    linked: Place, server: TokenServer
) -> None:
    quick_said, slow_said = overtaken(linked, "spent")

    assert "interrupted" in quick_said[0]  # the token was sent twice, and that ends it at the source
    assert server.presented == ["refresh-0", "refresh-0"]
    after = await stored(linked)
    assert (after.state, after.ended_why, after.told) == ("ended", "interrupted", True)
    assert after.refresh_token == "refresh-0"
    assert "access-1" not in slow_said
    assert "interrupted" not in slow_said[0]  # the owner was told once


async def test_standing_still_between_spending_and_storing_it_overwrites_no_newer_credential(
    linked: Place, server: TokenServer
) -> None:
    server.lenient = True
    before = await stored(linked)

    quick_said, slow_said = overtaken(linked, "spent")

    assert quick_said == ["access-2"]
    assert slow_said == ["access-2"]
    after = await stored(linked)
    assert (after.access_token, after.refresh_token) == ("access-2", "refresh-2")
    assert after.generation == before.generation + 1
