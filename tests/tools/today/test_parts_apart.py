"""`health_today` when one collection is refused for a reason of its own: it is named, and costs the others nothing."""

import pytest

from app.errors import BadRequest, SourceChanged, SourceUnreachable, VitalsError
from app.sources.base import Record
from tests.tools.fakes import Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio

MARK: Record = {
    "id": "m",
    "day": "2026-03-10",
    "score": 81,
    "contributors": {},
    "timestamp": "2026-03-10T00:00:00+00:00",
}


@pytest.mark.parametrize(
    "failure",
    [BadRequest("HTTP 426: too old."), SourceChanged("HTTP 418."), SourceUnreachable("It did not answer.")],
    ids=["refused", "undocumented", "unreachable"],
)
async def test_one_part_that_cannot_be_read_is_named_and_the_others_come(failure: VitalsError) -> None:
    source = FakeSource({"sleep": [sleep("2026-03-10")], "daily_sleep": [MARK]}, failing={"daily_readiness": failure})

    answer = await Connector(source).ask("health_today", days=0)

    assert answer["last_night"]["main"]["total_sleep_duration"] == 25_000
    assert answer["sleep_score"]["score"] == 81
    assert answer["missing"] == {"readiness": "not_read"}
    assert answer["complete"] is False
    assert any("oura.daily_readiness" in note and str(failure) in note for note in answer["notes"])


async def test_if_no_part_can_be_read_the_call_is_refused() -> None:
    refused = BadRequest("HTTP 426: too old.")
    source = FakeSource(failing=dict.fromkeys(("sleep", "daily_sleep", "daily_readiness"), refused))

    assert "HTTP 426" in await Connector(source).refused("health_today")


@pytest.mark.parametrize(("days", "told"), [(1, True), (0, False)])
async def test_a_ring_that_was_changed_between_the_days_is_told(days: int, told: bool) -> None:
    rings: list[Record] = [
        {"id": "a", "hardware_type": "gen3", "set_up_at": "2025-01-01T10:00:00Z"},
        {"id": "b", "hardware_type": "gen4", "set_up_at": "2026-03-10T09:00:00Z"},
    ]
    source = FakeSource({"sleep": [sleep("2026-03-09"), sleep("2026-03-10")], "ring_configuration": rings})

    answer = await Connector(source).ask("health_today", days=days)

    changes = [{"day": "2026-03-10", "from": "gen3", "to": "gen4"}] if told else None
    assert answer.get("ring_changes") == changes
    assert any("not the same instrument" in note for note in answer["notes"]) is told
