"""What the owner's browser is told with every answer: the headers, the cookies, and what a fault gives away."""

import hmac
import re
from collections.abc import Iterator
from pathlib import Path
from typing import AnyStr

import httpx2
import pytest
from starlette.routing import Route

from app.demo.browser import Browser, forms
from app.store.sqlite import SqliteStore
from tests.app_under_test import URL, Vitals, running_app
from tests.attacks.attacker import REDIRECT, authorize, client_id, connected, open_connections, register, sign_in

pytestmark = pytest.mark.anyio

HTML = {"accept": "text/html,*/*;q=0.8"}
LOCAL = "http://127.0.0.1:8000"


def addresses(vitals: Vitals) -> Iterator[str]:
    """Every address there is, some that there are not, and a static file."""
    for route in vitals.app.routes:
        if isinstance(route, Route):
            yield route.path.replace("{rest:path}", "nothing")
    yield from ("/nothing", "/static/style.css", "/static/nothing", "/authorize?client_id=x", "/callback/oura/?state=x")


async def everything(vitals: Vitals, **headers: str) -> list[tuple[str, httpx2.Response]]:
    """Ask every address in a few ways, as a stranger and with a live token."""
    _, tokens = await connected(vitals)
    http = vitals.http()
    answers = []
    for path in addresses(vitals):
        for method in ("GET", "POST", "OPTIONS", "DELETE"):
            for more in ({}, HTML, {"authorization": f"Bearer {tokens['access_token']}"}):
                answer = await http.request(method, f"{URL}{path}", headers={**more, **headers})
                answers.append((f"{method} {path}", answer))
    return answers


async def test_every_answer_is_unframeable_unsniffable_and_bound_to_https(vitals: Vitals) -> None:
    answers = await everything(vitals)

    assert len(answers) > 200
    for asked, answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff", asked
        assert answer.headers["x-frame-options"] == "DENY", asked
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], asked
        assert answer.headers["strict-transport-security"] == "max-age=31536000", asked
        assert answer.headers["referrer-policy"] in {"no-referrer", "same-origin"}, asked
        assert "cache-control" in answer.headers, asked


async def test_json_is_called_json_and_a_page_is_called_a_page(vitals: Vitals) -> None:
    for asked, answer in await everything(vitals):
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if answer.content.startswith((b"{", b"[")):
            assert kind in {"application/json", "text/event-stream"}, asked
        if b"<html" in answer.content:
            assert kind == "text/html", asked


async def test_no_page_runs_or_loads_anything_but_our_own_files(vitals: Vitals) -> None:
    http = vitals.http()
    pages = [answer for _, answer in await everything(vitals) if "text/html" in answer.headers.get("content-type", "")]
    pages.append(await http.get(authorize(await client_id(http))))

    assert len(pages) > 10
    for page in pages:
        policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        for sources in policy.values():
            assert set(sources.split()) <= {"'none'", "'self'", "data:"}
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert "data:" not in policy["script-src"]
        assert not re.findall(r"<script(?! src=\"/static/)|<style|\son\w+=|\sstyle=|javascript:", page.text)
        assert not re.findall(
            r"""<(?:link|script|img|iframe|object|embed)[^>]*(?:src|href)=["'](?!/static/)""", page.text
        )


async def test_only_a_page_with_a_form_tells_our_own_site_where_one_comes_from_and_nobody_else(vitals: Vitals) -> None:
    """Under `no-referrer` a browser sends `Origin: null` even with our own form, so pages say `same-origin`."""
    http = vitals.http()
    for asked, answer in await everything(vitals):
        page = "text/html" in answer.headers.get("content-type", "")
        assert answer.headers["referrer-policy"] == ("same-origin" if page else "no-referrer"), asked

    shown = await http.get(authorize(await client_id(http)))
    form = {**dict(forms(shown.text)[0].fields), "decision": "deny"}
    answer = await http.post(f"{URL}/authorize", data=form, headers={"origin": URL})
    assert answer.status_code == 303
    assert answer.headers["referrer-policy"] == "no-referrer"  # not even our own address goes along to the app


async def test_no_script_of_another_site_may_read_anything_but_metadata(vitals: Vitals) -> None:
    for asked, answer in await everything(vitals, origin="https://evil.example"):
        allowed = [name for name in answer.headers if name.startswith("access-control-")]
        assert not allowed or "/.well-known/" in asked, asked
        assert "access-control-allow-credentials" not in answer.headers


async def cookies(vitals: Vitals, public_url: str) -> dict[str, str]:
    """Every cookie of a whole way through consent and the owner's pages: name → how it was set."""
    found: dict[str, str] = {}

    async def keep(answer: httpx2.Response) -> None:
        for line in answer.headers.get_list("set-cookie"):
            name, _, rest = line.partition("=")
            found[name] = rest.partition("; ")[2]

    http = vitals.http()
    http.event_hooks = {"response": [keep]}
    if public_url == URL:
        await sign_in(vitals, await client_id(http), http=http)
        page = await open_connections(vitals, http=http)
        assert "Disconnect everything" in page.page
    else:
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(vitals.app), base_url=public_url, event_hooks=http.event_hooks
        ) as local:
            await local.get("/connections")
    return found


async def test_every_cookie_is_ours_alone_and_no_script_reads_it(vitals: Vitals) -> None:
    found = await cookies(vitals, URL)

    assert set(found) == {"__Host-vitals-browser", "__Host-vitals-owner"}
    for attributes in found.values():
        parts = {part.strip().lower() for part in attributes.split(";")}
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= parts
        assert not [part for part in parts if part.startswith("domain")]


async def test_on_loopback_without_https_it_is_the_same_but_for_what_browsers_would_not_keep(tmp_path: Path) -> None:
    async with running_app(tmp_path, PUBLIC_URL=LOCAL) as vitals:
        found = await cookies(vitals, LOCAL)

    (name,) = found
    parts = {part.strip().lower() for part in found[name].split(";")}
    assert name == "vitals-browser"
    assert {"httponly", "samesite=lax", "path=/"} <= parts
    assert "secure" not in parts


async def test_a_fault_gives_nothing_of_itself_away_at_any_address(
    vitals: Vitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = vitals.http()
    client = await client_id(http)
    canary = "canary: /srv/vitals/store.py line 7, refresh token vrt_x"

    async def broken(*_args: object, **_more: object) -> bytes:
        raise RuntimeError(canary)

    for method in ("get", "put", "compare_and_set"):
        monkeypatch.setattr(SqliteStore, method, broken)
    answers = [
        await http.get(authorize(client), headers=HTML),
        await http.get(authorize(client)),
        await http.get(f"{URL}/callback/oura/?state={'x' * 43}&code=y", headers=HTML),
        await http.get(f"{URL}/connections", headers={**HTML, "cookie": "__Host-vitals-owner=" + "a" * 43}),
        await register(http),
        await http.post(f"{URL}/token", data={"grant_type": "authorization_code", "client_id": client, "code": "x"}),
        await http.post(f"{URL}/revoke", data={"client_id": client, "token": "x"}),
        await http.post(vitals.mcp_url, headers={"authorization": "Bearer x"}),
    ]

    assert sum(answer.status_code == 500 for answer in answers) >= 6
    for answer in answers:
        said = answer.text + str(answer.headers)
        for leak in ("canary", "Traceback", "RuntimeError", ".py", "vrt_x", "sqlite", "/srv"):
            assert leak not in said
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_every_secret_that_is_compared_is_compared_in_constant_time(
    vitals: Vitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens and codes are looked up by their hash; what is left to compare goes through `hmac.compare_digest`."""
    compared: list[str | bytes] = []
    honest = hmac.compare_digest

    def watched(one: AnyStr, other: AnyStr) -> bool:
        compared.append(one)
        return honest(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    http = vitals.http()

    async def comparisons(act: str) -> int:
        compared.clear()
        if act == "client secret":
            app = (await register(http, REDIRECT, token_endpoint_auth_method="client_secret_post")).json()
            form = {"client_id": app["client_id"], "client_secret": "wrong", "token": "x"}
            assert (await http.post(f"{URL}/revoke", data=form)).status_code == 401
        elif act == "form":
            page = await http.get(authorize(await client_id(http)))
            form = {**dict(forms(page.text)[0].fields), "csrf": "1.wrong", "decision": "approve"}
            assert (await http.post(f"{URL}/authorize", data=form, headers={"origin": URL})).status_code == 403
        elif act == "browser":
            begun = Browser(vitals.http(), stop_at=f"{URL}/callback/oura/")
            await begun.open(authorize(await client_id(http)))
            await begun.press("approve")
            await begun.press("owner")
            compared.clear()
            assert (await http.get(begun.address)).status_code == 403
        else:
            owner = await open_connections(vitals)
            compared.clear()
            assert (await owner._http.get(f"{URL}/connections")).status_code == 200
        return len(compared)

    for act in ("client secret", "form", "browser", "owner's session"):
        assert await comparisons(act), act
        assert all(len(value) == 64 for value in compared), act  # hexadecimal SHA-256, never the secret itself
