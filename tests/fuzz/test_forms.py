"""Forms that are almost right, with real secrets in them: each is read to its end, and none is a fault of ours."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.demo.browser import forms as forms_of
from app.demo.walk import App
from tests.app_under_test import URL, Vitals
from tests.attacks.attacker import REDIRECT, client_id
from tests.fuzz.asking import Answer, Request, ask
from tests.fuzz.shapes import (
    SOUND_AUTHORIZE,
    SOUND_CODE,
    SOUND_METADATA,
    TYPES,
    anything,
    as_json,
    forms,
    headers,
    in_query,
)
from tests.fuzz.trying import examples

pytestmark = pytest.mark.anyio
FORM = (b"content-type", b"application/x-www-form-urlencoded")
OWN_PAGE = (b"origin", URL.encode())


# What must have been answered among the rest, or the examples were not nearly right.
REACHED = {
    "GET /authorize": {200, 303, 400},
    "HEAD /authorize": {200, 400},
    "POST /authorize": {303, 400, 403},
    "POST /token": {400, 401},
    "POST /revoke": {400, 401},
    "POST /register": {201, 400},
    "GET /callback/oura/": {400},
    "POST /connections/end": {403},  # without a session nothing is done, in words
    "POST /connections/disconnect": {403},
    "POST /connections/signin": {400, 403},
    "POST /connections/signout": {403},
}


@dataclass
class Stage:
    """A connector, an app that holds tokens, one that is registered, and a browser that looks at the consent page."""

    vitals: Vitals
    app: App
    client: bytes
    cookie: bytes = b""
    page: dict[str, bytes] = field(default_factory=dict)
    seen: set[tuple[str, int]] = field(default_factory=set)

    async def ask(self, request: Request) -> Answer:
        answer = await ask(self.vitals.app, request)
        self.seen.add((f"{request.method} {request.target.partition(b'?')[0].decode()}", answer.status))
        return answer

    async def open_consent(self) -> None:
        query = b"&".join(
            name + b"=" + quote(value).encode() for name, value in (*SOUND_AUTHORIZE, (b"client_id", self.client))
        )
        answer = await self.ask(Request("GET", b"/authorize?" + query))
        self.cookie = answer.headers["set-cookie"].partition(";")[0].encode()
        (form,) = forms_of(answer.body.decode())
        self.page = {name: value.encode() for name, value in form.fields}


@pytest.fixture
async def stage(vitals: Vitals) -> AsyncIterator[Stage]:
    stage = Stage(vitals, await vitals.connected_app(), (await client_id(vitals.http())).encode())
    await stage.open_consent()
    stage.seen.clear()
    yield stage
    for asked in {asked for asked, _ in stage.seen}:
        answered = {status for each, status in stage.seen if each == asked}
        assert answered >= REACHED[asked], f"{asked} got no further than the door"
    await stage.app.token(grant_type="refresh_token", refresh_token=stage.app.refresh_token)


def mostly(honest: tuple[tuple[bytes, bytes], ...]) -> st.SearchStrategy[tuple[tuple[bytes, bytes], ...]]:
    """The headers that an honest sender sends, sometimes with odd ones behind or instead."""
    return st.one_of(st.just(honest), headers.map(lambda odd: (*honest, *odd)), headers)


class TestAuthorize:
    @given(
        query=st.one_of(
            forms(*SOUND_AUTHORIZE, (b"client_id", b"CLIENT")),
            forms((b"client_id", b"CLIENT"), (b"redirect_uri", REDIRECT.encode())),
        ),
        sent=headers,
        method=st.sampled_from(["GET", "GET", "HEAD"]),
    )
    @examples(250)
    async def test_no_query_makes_it_fail(
        self, stage: Stage, query: bytes, sent: tuple[tuple[bytes, bytes], ...], method: str
    ) -> None:
        target = b"/authorize?" + in_query(query).replace(b"CLIENT", stage.client)

        answer = await stage.ask(Request(method, target, sent))

        assert "code=" not in (answer.location or "")

    @given(
        form=forms((b"request", b"REQUEST"), (b"csrf", b"CSRF"), (b"decision", b"approve"), (b"timezone", b"UTC")),
        sent=mostly((FORM, OWN_PAGE, (b"cookie", b"COOKIE"))),
    )
    @examples(250)
    async def test_no_answer_to_the_consent_page_does(
        self, stage: Stage, form: bytes, sent: tuple[tuple[bytes, bytes], ...]
    ) -> None:
        body = form.replace(b"REQUEST", quote(stage.page["request"]).encode()).replace(b"CSRF", stage.page["csrf"])
        cookied = tuple((name, value.replace(b"COOKIE", stage.cookie)) for name, value in sent)

        answer = await stage.ask(Request("POST", b"/authorize", cookied, (body,)))

        assert "code=" not in (answer.location or "")


@given(
    path=st.sampled_from([b"/token", b"/revoke"]),
    form=st.one_of(
        forms(*SOUND_CODE, (b"client_id", b"CLIENT")),
        forms((b"grant_type", b"refresh_token"), (b"client_id", b"CLIENT"), (b"refresh_token", b"REFRESH")),
        forms((b"client_id", b"CLIENT"), (b"token", b"REFRESH"), (b"token_type_hint", b"x")),
    ),
    sent=mostly((FORM,)),
)
@examples(300)
async def test_no_form_of_an_app_makes_its_endpoints_fail(
    stage: Stage, path: bytes, form: bytes, sent: tuple[tuple[bytes, bytes], ...]
) -> None:
    # The refresh token is another app's: that it lives on is seen in the end.
    body = form.replace(b"CLIENT", stage.client).replace(b"REFRESH", stage.app.refresh_token.encode())

    answer = await stage.ask(Request("POST", path, sent, (body,)))

    assert b"access_token" not in answer.body


@given(
    metadata=st.one_of(
        st.dictionaries(st.sampled_from(sorted(SOUND_METADATA)), anything, max_size=4).map(
            lambda odd: SOUND_METADATA | odd
        ),
        st.lists(anything, max_size=4).map(lambda uris: SOUND_METADATA | {"redirect_uris": [REDIRECT, *uris]}),
        anything,
    ),
    kind=st.just(b"application/json") | st.sampled_from(TYPES),
)
@examples(250)
async def test_no_metadata_of_an_app_makes_registration_fail(stage: Stage, metadata: object, kind: bytes) -> None:
    answer = await stage.ask(Request("POST", b"/register", ((b"content-type", kind),), (as_json(metadata),)))

    assert answer.status in {201, 400, 429}


@given(query=forms((b"state", b"x" * 43), (b"code", b"y" * 43), (b"scope", b"daily")), cookie=headers)
@examples(100)
async def test_no_way_back_from_oura_that_nobody_set_out_on_does_anything(
    stage: Stage, query: bytes, cookie: tuple[tuple[bytes, bytes], ...]
) -> None:
    asked = len(stage.vitals.simulator.log)

    answer = await stage.ask(Request("GET", b"/callback/oura/?" + in_query(query), cookie))

    assert answer.status in {400, 404, 413, 421}
    assert len(stage.vitals.simulator.log) == asked


@given(
    path=st.sampled_from(
        [b"/connections/end", b"/connections/disconnect", b"/connections/signin", b"/connections/signout"]
    ),
    form=forms((b"csrf", b"CSRF"), (b"grant", b"g" + b"0" * 24), (b"timezone", b"UTC")),
    sent=mostly((FORM, OWN_PAGE, (b"cookie", b"COOKIE"))),
)
@examples(200)
async def test_no_form_of_a_stranger_on_the_owners_pages_does_anything(
    stage: Stage, path: bytes, form: bytes, sent: tuple[tuple[bytes, bytes], ...]
) -> None:
    asked = len(stage.vitals.simulator.log)
    body = form.replace(b"CSRF", stage.page["csrf"])
    cookied = tuple((name, value.replace(b"COOKIE", stage.cookie)) for name, value in sent)

    await stage.ask(Request("POST", path, cookied, (body,)))

    assert len(stage.vitals.simulator.log) == asked
    assert len([grant async for grant in stage.vitals.parts.authserver.grants._all()]) == 2  # nobody's app is gone
