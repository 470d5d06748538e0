"""What the owner typed as their zone is there when a page is shown again, and so is the reason; without scripts."""

import re
from pathlib import Path

import httpx2
import pytest

from app.authserver.owner.browser import TOKEN_LIFE_S
from tests.signin.stage import Stage, form, staged

pytestmark = pytest.mark.anyio
SIGN_IN = "/connections/signin"


def zone_field(page: httpx2.Response) -> str:
    """Return the tag of the field; the page must say why it is shown again."""
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    return str(re.findall(r'<input type="text" id="timezone"[^>]*>', page.text)[0])


@pytest.mark.parametrize(
    ("zone", "decision", "late_s"),
    [
        pytest.param("Mars/Base", "approve", 0, id="wrong"),
        pytest.param('Mars" onfocus="x', "approve", 0, id="markup"),
        pytest.param("Europe/Helsinki", "approve", TOKEN_LIFE_S + 1, id="too late"),
        pytest.param("Mars/Base", "approve", TOKEN_LIFE_S + 1, id="wrong and too late"),
        pytest.param("Europe/Helsinki", "", 0, id="neither button"),
        pytest.param("", "", 0, id="emptied, neither button"),
        pytest.param("", "approve", TOKEN_LIFE_S + 1, id="emptied, too late"),
    ],
)
async def test_the_consent_page_keeps_it(zone: str, decision: str, late_s: float, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        browser = stage.browser()
        fields = form(await browser.get("/authorize", await stage.params()))
        stage.clock.at += late_s
        page = await browser.post("/authorize", {**fields, "timezone": zone, "decision": decision})

        field = zone_field(page)
        assert "data-typed" in field
        assert form(page)["timezone"] == zone
        assert "onfocus=" not in field.replace("&#34; onfocus=&#34;", "")


@pytest.mark.parametrize("late_s", [0, TOKEN_LIFE_S + 1], ids=["in time", "too late"])
async def test_the_sign_in_to_the_connections_keeps_it(stage: Stage, late_s: float) -> None:
    browser = stage.browser()
    fields = form(await browser.get("/connections"), SIGN_IN)
    stage.clock.at += late_s

    page = await browser.post(SIGN_IN, {**fields, "timezone": "Mars/Base"})

    assert "data-typed" in zone_field(page)
    assert form(page, SIGN_IN)["timezone"] == "Mars/Base"


async def test_a_page_that_is_shown_first_leaves_the_field_to_the_browser(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params())

    assert "data-typed" not in page.text


async def test_no_more_is_repeated_than_fits_the_field(stage: Stage) -> None:
    page = await stage.browser().decide(await stage.params(), timezone="x" * 30_000)

    assert "x" * 64 in page.text
    assert "x" * 65 not in page.text
