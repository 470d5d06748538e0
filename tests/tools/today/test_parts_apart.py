"""`health_today` when one collection is refused for a reason of its own: it is named, and costs the others nothing."""

import pytest

from app.errors import BadRequest, SourceChanged, SourceUnreachable, VitalsError
from tests.tools.fakes import Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio

MARK = {"id": "m", "day": "2026-03-10", "score": 81, "contributors": {}, "timestamp": "2026-03-10T00:00:00+00:00"}


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
