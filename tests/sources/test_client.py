"""One authenticated GET: the token goes to Oura alone, is renewed once, and retries are bounded."""

import logging
from collections.abc import AsyncIterator, Callable

import anyio
import httpx2
import pytest

from app.errors import (
    MembershipRequired,
    NotPermitted,
    ReconnectRequired,
    SourceBusy,
    SourceChanged,
    SourceUnreachable,
    VitalsError,
)
from app.identity import Caller
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.pages import Page
from tests.sources.fakes import ADA

SLEEP = COLLECTIONS["daily_sleep"]
EMPTY = httpx2.Response(200, json={"data": [], "next_token": None})
Handler = Callable[[httpx2.Request], httpx2.Response]


class Tokens:
    """Gives `token-0`, and the next one for each that was refused."""

    def __init__(self) -> None:
        self.refused: list[str | None] = []

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        self.refused.append(refused)
        return f"token-{len([one for one in self.refused if one is not None])}"


class Oura:
    """Answers from a list; the last one stays."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def reply(status: int, body: object = None, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


async def ask(oura: Handler, tokens: Tokens | None = None, slept: list[float] | None = None, **params: str) -> Page:
    async def sleep(wait_s: float) -> None:
        if slept is not None:
            slept.append(wait_s)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(oura)) as http:
        client = OuraClient(
            http=http, api_url="https://api.oura.example", tokens=tokens or Tokens(), sandbox=False, sleep=sleep
        )
        return await client.page(ADA, SLEEP, params, next_token=params.pop("cursor", None))


@pytest.mark.anyio
async def test_the_question_travels_with_the_token_in_the_header_alone() -> None:
    oura = Oura(EMPTY)

    await ask(oura, start_date="2026-03-08", cursor="a+b")

    (request,) = oura.seen
    assert str(request.url) == (
        "https://api.oura.example/v2/usercollection/daily_sleep?start_date=2026-03-08&next_token=a%2Bb"
    )
    assert request.headers["authorization"] == "Bearer token-0"


@pytest.mark.anyio
async def test_a_refused_token_is_renewed_once_and_the_question_repeated_once() -> None:  # T10
    tokens, oura = Tokens(), Oura(reply(401, {"detail": "expired"}), EMPTY)

    await ask(oura, tokens)

    assert tokens.refused == [None, "token-0"]
    assert [request.headers["authorization"] for request in oura.seen] == ["Bearer token-0", "Bearer token-1"]


@pytest.mark.anyio
async def test_a_renewed_token_that_is_refused_too_is_not_renewed_again() -> None:  # T10
    tokens, oura = Tokens(), Oura(reply(401, {"detail": "expired"}))

    with pytest.raises(ReconnectRequired, match="sign in"):
        await ask(oura, tokens)
    assert tokens.refused == [None, "token-0"]
    assert len(oura.seen) == 2


@pytest.mark.anyio
async def test_a_401_that_names_a_scope_costs_no_refresh() -> None:
    tokens, oura = Tokens(), Oura(reply(401, {"detail": "Token is not authorized access daily scope."}))

    with pytest.raises(NotPermitted) as caught:
        await ask(oura, tokens)
    assert caught.value.scope == "daily"
    assert tokens.refused == [None]
    assert len(oura.seen) == 1


@pytest.mark.anyio
async def test_a_403_without_a_scope_is_about_membership_and_costs_no_refresh() -> None:  # D33
    tokens, oura = Tokens(), Oura(reply(403, {"detail": "Forbidden"}))

    with pytest.raises(MembershipRequired, match="membership"):
        await ask(oura, tokens)
    assert tokens.refused == [None]


@pytest.mark.anyio
async def test_a_short_rate_limit_is_waited_out_and_said() -> None:
    slept: list[float] = []

    page = await ask(Oura(reply(429, retry_after="3"), EMPTY), slept=slept)

    assert slept == [3]
    assert page.rate_limited


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answers", "error", "requests", "waits"),
    [
        pytest.param([reply(429, retry_after="60")], SourceBusy, 1, [], id="a long wait is not waited"),
        pytest.param([reply(429, retry_after="4")], SourceBusy, 3, [4, 4], id="two waits and no more"),
        pytest.param([reply(429, retry_after="6")], SourceBusy, 2, [6], id="ten seconds in all"),
        pytest.param([reply(429, retry_after="0")], SourceBusy, 3, [0.5, 0.5], id="no wait is a short wait"),
        pytest.param([reply(503)], SourceBusy, 2, [0.5], id="5xx once more"),
        pytest.param([httpx2.ReadError("cut")], SourceUnreachable, 2, [0.5], id="a cut connection once more"),
        pytest.param([httpx2.ConnectError("no")], SourceUnreachable, 2, [0.5], id="no connection once more"),
        pytest.param([httpx2.ReadTimeout("slow")], SourceUnreachable, 2, [0.5], id="too slow once more"),
        pytest.param(
            [httpx2.ReadError("cut"), reply(502), EMPTY], SourceBusy, 2, [0.5], id="one retry for both kinds together"
        ),
        pytest.param([httpx2.Response(200, html="<html>")], SourceChanged, 1, [], id="HTML is not retried"),
        pytest.param([reply(404, {"detail": "Not Found"})], VitalsError, 1, [], id="a refusal is not retried"),
    ],
)
async def test_retries_are_bounded(
    answers: list[httpx2.Response | Exception], error: type[VitalsError], requests: int, waits: list[float]
) -> None:
    oura, slept = Oura(*answers), []  # type: ignore[var-annotated] # filled by ask

    with pytest.raises(error):
        await ask(oura, slept=slept)
    assert len(oura.seen) == requests
    assert slept == waits


@pytest.mark.anyio
async def test_a_redirect_is_not_followed_so_the_token_goes_nowhere_else() -> None:
    oura = Oura(reply(302, location="https://elsewhere.example/"))

    with pytest.raises(SourceChanged):
        await ask(oura)
    assert [request.url.host for request in oura.seen] == ["api.oura.example"]


@pytest.mark.anyio
async def test_a_cursor_that_is_an_address_is_sent_as_text() -> None:
    oura = Oura(EMPTY)

    await ask(oura, cursor="https://elsewhere.example/x?a=b")

    assert oura.seen[0].url.host == "api.oura.example"
    assert oura.seen[0].url.params["next_token"] == "https://elsewhere.example/x?a=b"


@pytest.mark.anyio
async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.sources.oura.sending._LARGEST_BODY", 1000)

    with pytest.raises(SourceChanged, match="larger"):
        await ask(Oura(httpx2.Response(200, content=b"[" * 1001)))


@pytest.mark.anyio
async def test_an_answer_that_comes_by_the_byte_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Drip(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                await anyio.sleep(0.001)
                yield b" "

    monkeypatch.setattr("app.sources.oura.sending._DEADLINE_S", 0.05)

    with anyio.fail_after(5), pytest.raises(SourceUnreachable, match="TimeoutError"):
        await ask(lambda request: httpx2.Response(200, stream=Drip()))


@pytest.mark.anyio
async def test_no_more_than_eight_requests_are_on_their_way_at_once() -> None:
    at_once, most, gate = 0, 0, anyio.Event()

    async def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await gate.wait()
        at_once -= 1
        return httpx2.Response(200, json={"data": []})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        client = OuraClient(http=http, api_url="https://api.oura.example", tokens=Tokens())
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(30):
                    group.start_soon(client.page, ADA, SLEEP, {})
                await anyio.wait_all_tasks_blocked()
                gate.set()

    assert most == 8


@pytest.mark.anyio
async def test_neither_logs_nor_errors_hold_token_or_address(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)  # what a server at LOG_LEVEL=info collects

    await ask(Oura(EMPTY), start_date="2026-03-08")
    with pytest.raises(SourceUnreachable) as caught:
        await ask(Oura(httpx2.ReadError("GET https://api.oura.example/?next_token=secret")), cursor="secret")

    assert "token-0" not in caplog.text
    assert "2026-03-08" not in caplog.text
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
