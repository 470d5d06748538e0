"""What a sign-in keeps, where it begins, and what no page of a refusal says."""

import pytest

from tests.signin.oura import OWNER, SECRET_MARKS, STRANGER, TOKEN_URLS
from tests.signin.stage import OWNER_KEY, Stage

pytestmark = pytest.mark.anyio


async def test_a_sign_in_begins_at_the_endpoint_that_knew_the_application_before(stage: Stage) -> None:
    stage.oura.legacy_refuses = True
    await stage.connect_owner()
    await stage.connect_owner()

    assert stage.oura.asked_at == [TOKEN_URLS[0], TOKEN_URLS[1], TOKEN_URLS[1]]


@pytest.mark.parametrize(
    ("token_scope", "callback_scope", "kept"),
    [
        pytest.param("extapi:email extapi:daily", "email", {"email", "daily"}, id="the token answer knows best"),
        pytest.param(None, "email daily", {"email", "daily"}, id="else the callback"),
        pytest.param(None, None, None, id="neither said: unknown"),
    ],
)
async def test_what_the_owner_unticked_is_kept_as_told(
    stage: Stage, token_scope: str | None, callback_scope: str | None, kept: set[str] | None
) -> None:
    stage.oura.token_scope = token_scope
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    more = {} if callback_scope is None else {"scope": callback_scope}
    page = await browser.come_back(state, stage.oura.code_for(OWNER), **more)

    assert page.status_code == 303
    connection = await stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert connection.scopes == kept


async def test_a_second_sign_in_without_a_zone_keeps_the_one_that_is_known(stage: Stage) -> None:
    await stage.connect_owner()
    browser = stage.browser()
    state = await browser.approve(await stage.params(), timezone="")
    await browser.come_back(state, stage.oura.code_for(OWNER))

    connection = await stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert connection.timezone == "Europe/Helsinki"
    assert connection.access_token == "access-1"


async def test_no_page_of_a_refusal_carries_a_token_or_a_code(stage: Stage) -> None:
    for account in (STRANGER, {"id": "x"}):
        browser = stage.browser()
        state = await browser.approve(await stage.params())
        code = stage.oura.code_for(account)
        page = await browser.come_back(state, code)
        for secret in (*SECRET_MARKS, code, state):
            assert secret not in page.text
