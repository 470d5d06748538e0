"""The consent page as text: nothing sent in becomes markup, and zones, hosts and names are shown as they are."""

from pathlib import Path

import pytest

from app.authserver.owner.areas import AREAS, unlocked_by
from app.authserver.owner.consent import destination, plain_name
from tests.signin.stage import PUBLIC_URL, REDIRECT, Stage, answer, form, request_in, staged
from tests.signin.test_consent import MARKUP

pytestmark = pytest.mark.anyio


async def test_markup_in_any_parameter_or_name_comes_back_escaped(stage: Stage) -> None:
    params = await stage.params(name=f"Claude {MARKUP}")
    browser = stage.browser()

    shown = await browser.get("/authorize", {**params, "state": MARKUP})
    assert "<script>alert" not in shown.text
    assert "Claude" in shown.text
    assert request_in(form(shown))["state"] == MARKUP
    for name in params:
        page = await browser.get("/authorize", {**params, name: MARKUP})
        assert "<script>alert" not in page.text


async def test_a_state_with_markup_travels_through_consent_unchanged(stage: Stage) -> None:
    here = "http://127.0.0.1:43210/callback"
    page = await stage.browser().decide(await stage.params(redirect=here, state=MARKUP), "deny")

    assert answer(page)["state"] == MARKUP


async def test_a_name_that_hides_or_turns_text_is_shown_plain() -> None:
    assert plain_name("Cla\u202eude\u200b\n  Code\x00") == "Claude Code"
    assert len(plain_name("x" * 500)) == 60


async def test_a_host_in_another_script_is_shown_in_ascii() -> None:
    assert destination("https://\u0441laude.ai/cb").name == "xn--laude-0ye.ai"


@pytest.mark.parametrize("typed", ["Europe/Atlantis<b>", "localtime"])  # the second is the server's zone, not theirs
async def test_a_typed_zone_that_does_not_exist_is_asked_for_again(stage: Stage, typed: str) -> None:
    page = await stage.browser().decide(await stage.params(), timezone=typed)

    assert page.status_code == 400
    assert "is not the name of a time zone" in page.text
    assert "data-typed" in page.text
    assert "<b>" not in page.text.split("</h1>")[1]
    assert await stage.records("signin:") == {}


async def test_a_zone_that_the_settings_prescribe_is_shown_and_cannot_be_changed(tmp_path: Path) -> None:
    async with staged(tmp_path, timezone="Asia/Tokyo") as stage:
        page = await stage.browser().get("/authorize", await stage.params())

    assert "Asia/Tokyo" in page.text
    assert 'name="timezone"' not in page.text


async def test_in_the_sandbox_a_yes_gives_the_app_its_code_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path, sandbox=True) as stage:
        browser = stage.browser()
        page = await browser.get("/authorize", await stage.params())
        went = await browser.post("/authorize", {**form(page), "decision": "approve"})
        callback = await browser.get("/callback/oura/", {"state": "x", "code": "y"})

    assert "sample data" in page.text
    told = answer(went)
    assert went.headers["location"].startswith(REDIRECT)
    assert told["code"]
    assert (told["state"], told["iss"]) == ("app-state", PUBLIC_URL)
    assert callback.status_code == 404


def test_no_area_is_said_to_be_allowed_by_one_scope_and_withheld_with_another() -> None:
    """Else `/connections` names it in both of its lists, and nobody knows which is true."""
    unlocking = [scope for area in AREAS for scope in area.scopes]
    named = [area.name for area in AREAS for _ in area.scopes]

    assert len(named) == len(set(named))
    assert all(unlocked_by(scope) for scope in unlocking)
