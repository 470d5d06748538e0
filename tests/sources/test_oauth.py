"""Codes and refresh tokens are single-use: asked at most once at each endpoint, and never again without an answer."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from app.simulator import App, Simulator
from app.sources.oura.oauth import ExchangeFailed, OuraOAuth
from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshMisconfigured, RefreshRefused
from tests.journey.test_whole_way import pkce

OLD, NEW = "https://api.oura.example/oauth/token", "https://moi.oura.example/oauth/v2/ext/oauth-token"
REVOKE_OLD, REVOKE_NEW = "https://api.oura.example/oauth/revoke", "https://moi.oura.example/oauth/v2/ext/oauth-revoke"
GOOD = {
    "access_token": "_0XAT",
    "refresh_token": "_1XRT",
    "expires_in": 2591999,
    "token_type": "bearer",
    "scope": "extapi:daily extapi:spo2Daily email",
    "id_token": None,
}
SECRET = "client-secret-value"
Answer = httpx2.Response | Exception


def rejected(status: int, error: str | None, description: str | None = None) -> httpx2.Response:
    return httpx2.Response(status, json={"error": error, "error_description": description})


class Endpoints:
    """Answers by address and keeps what was sent."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = {"api.oura.example": answers.get("old"), "moi.oura.example": answers.get("new")}
        self.seen: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        answer = self.answers[request.url.host]
        assert answer is not None, f"{request.url.host} must not be asked"
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def asked(self) -> list[str]:
        return ["old" if request.url.host == "api.oura.example" else "new" for request in self.seen]


@asynccontextmanager
async def oauth(handler: Callable[[httpx2.Request], httpx2.Response]) -> AsyncIterator[OuraOAuth]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(handler)) as http:
        yield OuraOAuth(
            http=http,
            client_id="client",
            client_secret=SECRET,
            authorize_url="https://cloud.oura.example/oauth/authorize",
            token_urls=(OLD, NEW),
            revoke_urls=(REVOKE_OLD, REVOKE_NEW),
            scopes=("daily", "spo2", "email"),
            redirect_uri="https://vitals.example/callback/oura/",
        )


@pytest.mark.anyio
async def test_the_owner_is_sent_with_every_scope_named_and_the_exact_redirect_uri() -> None:
    async with oauth(Endpoints()) as client:
        url = urlsplit(client.authorize_url("s+/=", challenge="of-the-verifier"))

    assert f"{url.scheme}://{url.netloc}{url.path}" == "https://cloud.oura.example/oauth/authorize"
    assert parse_qs(url.query) == {
        "response_type": ["code"],
        "client_id": ["client"],
        "redirect_uri": ["https://vitals.example/callback/oura/"],
        "scope": ["daily spo2 email"],
        "state": ["s+/="],
        "code_challenge": ["of-the-verifier"],
        "code_challenge_method": ["S256"],
    }


@pytest.mark.anyio
async def test_a_code_brings_tokens_with_scopes_in_our_spelling() -> None:
    endpoints = Endpoints(old=httpx2.Response(200, json=GOOD))

    async with oauth(endpoints) as client:
        got = await client.exchange("code-1", verifier="verifier-1")

    assert (got.access_token, got.refresh_token, got.expires_in_s) == ("_0XAT", "_1XRT", 2591999)
    assert got.scopes == frozenset({"daily", "spo2", "email"})
    assert got.token_url == OLD
    assert parse_qs(endpoints.seen[0].content.decode()) == {
        "grant_type": ["authorization_code"],
        "code": ["code-1"],
        "code_verifier": ["verifier-1"],
        "redirect_uri": ["https://vitals.example/callback/oura/"],
        "client_id": ["client"],
        "client_secret": [SECRET],
    }
    assert endpoints.seen[0].url.query == b""


@pytest.mark.anyio
@pytest.mark.parametrize("status", [400, 401])
async def test_a_code_that_the_first_endpoint_rejects_is_tried_once_at_the_next(status: int) -> None:  # A3
    endpoints = Endpoints(old=rejected(status, "invalid_request"), new=httpx2.Response(200, json=GOOD))

    async with oauth(endpoints) as client:
        got = await client.exchange("code-1", verifier="verifier-1")

    assert endpoints.asked == ["old", "new"]
    sent = [parse_qs(request.content.decode()) for request in endpoints.seen]
    assert [(form["code"], form["code_verifier"]) for form in sent] == [(["code-1"], ["verifier-1"])] * 2
    assert got.token_url == NEW


@pytest.mark.anyio
async def test_an_endpoint_that_worked_before_is_asked_first_and_a_foreign_one_never() -> None:
    endpoints = Endpoints(new=httpx2.Response(200, json=GOOD), old=httpx2.Response(200, json=GOOD))

    async with oauth(endpoints) as client:
        await client.exchange("a", verifier=None, token_url=NEW)
        await client.exchange("b", verifier=None, token_url="https://evil.example/token")

    assert endpoints.asked == ["new", "old"]


@pytest.mark.anyio
async def test_a_sign_in_that_was_begun_without_a_challenge_sends_no_verifier() -> None:
    endpoints = Endpoints(old=httpx2.Response(200, json=GOOD))

    async with oauth(endpoints) as client:
        await client.exchange("code-1", verifier=None)

    assert "code_verifier" not in parse_qs(endpoints.seen[0].content.decode())


@pytest.mark.anyio
async def test_a_rejection_that_quotes_what_was_sent_is_told_without_it() -> None:
    endpoints = Endpoints(old=rejected(403, "invalid_grant", "code-1 does not go with verifier-1"))

    async with oauth(endpoints) as client:
        with pytest.raises(ExchangeFailed) as caught:
            await client.exchange("code-1", verifier="verifier-1")

    assert "does not go with" in str(caught.value)
    assert "code-1" not in str(caught.value)
    assert "verifier-1" not in str(caught.value)


@pytest.mark.anyio
async def test_a_code_that_both_reject_is_not_tried_a_third_time_and_the_older_text_is_told() -> None:  # A3
    endpoints = Endpoints(
        old=rejected(400, "invalid_client", "Invalid client_id."), new=rejected(401, "invalid_client", "other")
    )

    async with oauth(endpoints) as client:
        with pytest.raises(ExchangeFailed, match=r"invalid_client: Invalid client_id\.") as caught:
            await client.exchange("code-1", verifier="verifier-1", token_url=NEW)

    assert endpoints.asked == ["new", "old"]
    assert caught.value.reason == "rejected"
    assert "code-1" not in str(caught.value)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(httpx2.Response(503), "unknown", id="5xx"),
        pytest.param(httpx2.ReadTimeout("slow"), "unknown", id="timeout"),
        pytest.param(httpx2.RemoteProtocolError("cut"), "unknown", id="cut"),
        pytest.param(httpx2.Response(200, html="<html>"), "unknown", id="a web page under 200"),
        pytest.param(httpx2.Response(200, json={"error": "invalid_grant"}), "unknown", id="an error under 200"),
        pytest.param(httpx2.Response(200, content=b"x" * 70_000), "unknown", id="endless"),
        pytest.param(httpx2.ConnectError("no"), "unreachable", id="no connection"),
        pytest.param(httpx2.Response(403, html="<html>"), "rejected", id="403 from the edge"),
        pytest.param(httpx2.Response(302, headers={"location": NEW}), "rejected", id="redirect"),
        pytest.param(httpx2.Response(429), "unreachable", id="429"),
    ],
)
async def test_a_code_is_not_sent_again_after_anything_but_400_and_401(answer: Answer, reason: str) -> None:
    endpoints = Endpoints(old=answer)

    async with oauth(endpoints) as client:
        with pytest.raises(ExchangeFailed) as caught:
            await client.exchange("code-1", verifier="verifier-1")

    assert endpoints.asked == ["old"]
    assert caught.value.reason == reason


@pytest.mark.anyio
async def test_a_renewal_goes_to_the_next_endpoint_where_the_first_does_not_know_the_application() -> None:  # A2
    endpoints = Endpoints(old=rejected(400, "invalid_request"), new=httpx2.Response(200, json=GOOD))

    async with oauth(endpoints) as client:
        got = await client.refresh("rt-1", token_url=OLD)
        await client.refresh("rt-2", token_url=got.token_url)

    assert endpoints.asked == ["old", "new", "new"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("old", "new", "remembered", "error", "asked"),
    [
        pytest.param(
            rejected(400, "invalid_grant"), None, OLD, RefreshRefused, ["old"], id="invalid_grant where it came from"
        ),
        pytest.param(
            rejected(400, "invalid_request", "Refresh token already used."),
            None,
            OLD,
            RefreshRefused,
            ["old"],
            id="already used",
        ),
        pytest.param(
            rejected(401, None, "Token Already Used Or Revoked"), None, OLD, RefreshRefused, ["old"], id="revoked"
        ),
        pytest.param(
            rejected(400, "invalid_grant"),
            rejected(401, "invalid_client"),
            "https://gone.example/token",
            RefreshRefused,
            ["old", "new"],
            id="invalid_grant where it may not have come from, and nobody else takes it",
        ),
        pytest.param(
            rejected(400, "invalid_request"),
            rejected(400, "invalid_grant"),
            OLD,
            RefreshRefused,
            ["old", "new"],
            id="the endpoint that knows the application decides",
        ),
        pytest.param(
            rejected(400, "invalid_client"),
            rejected(401, "invalid_client"),
            OLD,
            RefreshMisconfigured,
            ["old", "new"],
            id="a wrong secret keeps the token",
        ),
        pytest.param(httpx2.Response(403), None, OLD, RefreshMisconfigured, ["old"], id="403"),
        pytest.param(httpx2.Response(404), None, OLD, RefreshMisconfigured, ["old"], id="404"),
        pytest.param(
            httpx2.Response(307, headers={"location": NEW}), None, OLD, RefreshMisconfigured, ["old"], id="3xx"
        ),
        pytest.param(httpx2.ConnectError("no"), None, OLD, NotSent, ["old"], id="no connection"),
        pytest.param(httpx2.ConnectTimeout("no"), None, OLD, NotSent, ["old"], id="no connection in time"),
        pytest.param(httpx2.Response(429), None, OLD, NotSent, ["old"], id="429"),
        pytest.param(httpx2.ReadTimeout("slow"), None, OLD, OutcomeUnknown, ["old"], id="timeout"),
        pytest.param(httpx2.WriteError("cut"), None, OLD, OutcomeUnknown, ["old"], id="cut while sending"),
        pytest.param(httpx2.ReadError("cut"), None, OLD, OutcomeUnknown, ["old"], id="cut"),
        pytest.param(
            httpx2.Response(500, json={"error": "invalid_grant"}), None, OLD, OutcomeUnknown, ["old"], id="500"
        ),
        pytest.param(httpx2.Response(408), None, OLD, OutcomeUnknown, ["old"], id="408"),
        pytest.param(httpx2.Response(200, html="<html>"), None, OLD, OutcomeUnknown, ["old"], id="HTML under 200"),
        pytest.param(httpx2.Response(200, json={"ok": 1}), None, OLD, OutcomeUnknown, ["old"], id="200 without tokens"),
        pytest.param(
            rejected(400, "invalid_request"),
            httpx2.ReadError("cut"),
            OLD,
            OutcomeUnknown,
            ["old", "new"],
            id="cut later",
        ),
        pytest.param(
            rejected(400, "invalid_request"),
            httpx2.ConnectError("no"),
            OLD,
            NotSent,
            ["old", "new"],
            id="not sent later",
        ),
    ],
)
async def test_only_an_explicit_refusal_is_the_end_of_a_refresh_token(  # T9
    old: Answer, new: Answer | None, remembered: str, error: type[Exception], asked: list[str]
) -> None:
    endpoints = Endpoints(old=old) if new is None else Endpoints(old=old, new=new)

    async with oauth(endpoints) as client:
        with pytest.raises(error) as caught:
            await client.refresh("rt-secret", token_url=remembered)

    assert type(caught.value) is error
    assert endpoints.asked == asked
    assert caught.value.__cause__ is None


@pytest.mark.anyio
async def test_an_error_text_repeats_nothing_that_was_sent() -> None:
    echo = rejected(400, "invalid_client", f"token rt-secret of {SECRET}\x1b[0m " + "x" * 5000)

    async with oauth(Endpoints(old=echo, new=echo)) as client:
        with pytest.raises(RefreshMisconfigured) as caught:
            await client.refresh("rt-secret", token_url=OLD)

    text = str(caught.value)
    assert "rt-secret" not in text
    assert SECRET not in text
    assert text.isprintable()
    assert len(text) < 600


@pytest.mark.anyio
async def test_revoking_tells_every_endpoint_in_its_own_way_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    endpoints = Endpoints(old=httpx2.Response(200), new=httpx2.Response(200))

    async with oauth(endpoints) as client:
        done = await client.revoke(access_token="at-secret", refresh_token="rt-secret")

    assert done
    assert endpoints.asked == ["new", "new", "old"]
    assert [parse_qs(request.content.decode())["token"][0] for request in endpoints.seen[:2]] == [
        "rt-secret",
        "at-secret",
    ]
    assert endpoints.seen[2].url.params["access_token"] == "at-secret"
    assert "secret" not in caplog.text


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answer", [httpx2.Response(500), httpx2.ConnectError("no"), httpx2.ReadTimeout("slow"), httpx2.Response(401)]
)
async def test_revoking_in_vain_is_said_and_never_raised(answer: Answer) -> None:
    async with oauth(Endpoints(old=answer, new=answer)) as client:
        assert await client.revoke(access_token="a", refresh_token=None) is False


@pytest.mark.anyio
@pytest.mark.parametrize("registered_at", ["either", "developer", "cloud"])
async def test_the_whole_way_works_for_applications_of_either_portal(registered_at: str) -> None:
    sim = Simulator(now=lambda: 1_800_000_000.0, app=App(registered_at=registered_at))  # type: ignore[arg-type] # literal
    root = "http://oura.test"
    verifier, challenge = pkce()
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=sim.app)) as http:
        client = OuraOAuth(
            http=http,
            client_id=sim.client.client_id,
            client_secret=sim.client.client_secret,
            authorize_url=f"{root}/oauth/authorize",
            token_urls=(f"{root}/oauth/token", f"{root}/oauth/v2/ext/oauth-token"),
            revoke_urls=(f"{root}/oauth/revoke", f"{root}/oauth/v2/ext/oauth-revoke"),
            scopes=("daily", "heartrate", "unknown"),
            redirect_uri="https://vitals.example/callback/oura/",
        )
        answer = await http.get(f"{client.authorize_url('state-1', challenge=challenge)}&sim_auto=owner")
        back = parse_qs(urlsplit(answer.headers["location"]).query)

        first = await client.exchange(back["code"][0], verifier=verifier)
        second = await client.refresh(first.refresh_token or "", token_url=first.token_url)
        with pytest.raises(RefreshRefused):
            await client.refresh(first.refresh_token or "", token_url=second.token_url)

        again = await http.get(f"{client.authorize_url('state-2', challenge=challenge)}&sim_auto=owner")
        third = await client.exchange(parse_qs(urlsplit(again.headers["location"]).query)["code"][0], verifier=verifier)
        assert await client.revoke(access_token=third.access_token, refresh_token=third.refresh_token)

    assert back["state"] == ["state-1"]
    assert first.scopes == frozenset({"daily", "heartrate"})
    assert sim.counts.refreshed == 1
    assert not any(family.alive for family in sim.grants.families)
