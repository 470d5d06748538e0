"""Metadata documents that strangers name: few at a time for each, few written down, and none that hold up an app."""

from pathlib import Path

import anyio
import orjson
import pytest

from app.authserver.clients.cimd import Fetched
from app.authserver.clients.pinned import PINNED
from app.authserver.limits.allowances import DOCUMENT, DOCUMENT_RECORDS
from tests.app_under_test import URL, running_app
from tests.attacks.attacker import REDIRECT, authorize, handed_over, redeem, refresh
from tests.attacks.attacker import sign_in as approve_and_sign_in
from tests.attacks.strangers import OWNER, STRANGER, address, coming_from, records

pytestmark = pytest.mark.anyio


class Slow:
    """Documents of apps; those of `evil.example` never come."""

    def __init__(self) -> None:
        self.waiting = 0
        self.asked: list[str] = []

    async def __call__(self, url: str) -> Fetched:
        self.asked.append(url)
        if "evil.example" in url:
            self.waiting += 1
            try:
                await anyio.sleep_forever()
            finally:
                self.waiting -= 1
        document = {"client_id": url, "client_name": "App", "redirect_uris": [REDIRECT]}
        return Fetched(orjson.dumps(document))


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param([STRANGER] * 12, id="one address"),
        pytest.param([f"2001:db8:1:{n:x}::1" for n in range(12)], id="many networks of one /48"),
    ],
)
async def test_one_stranger_cannot_occupy_all_who_fetch_documents(tmp_path: Path, addresses: list[str]) -> None:
    slow = Slow()
    async with running_app(tmp_path, fetch_document=slow) as vitals:
        statuses: list[int] = []

        async def look(number: int) -> None:
            stranger = coming_from(vitals, addresses[number])
            statuses.append((await stranger.get(authorize(f"https://evil.example/{number}"))).status_code)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for number in range(12):
                    group.start_soon(look, number)
                while len(statuses) < 10 or slow.waiting < 2:
                    await anyio.lowlevel.checkpoint()
                honest = await coming_from(vitals, OWNER).get(authorize("https://app.example/client"))
                held = slow.waiting
                group.cancel_scope.cancel()

    assert held == 2
    assert statuses == [429] * 10
    assert honest.status_code == 200


async def test_documents_that_one_address_names_are_bounded_and_a_well_known_one_is_shown_all_the_same(
    tmp_path: Path,
) -> None:
    slow = Slow()
    async with running_app(tmp_path, fetch_document=slow) as vitals:
        stranger = coming_from(vitals, STRANGER)
        found = [await stranger.get(authorize(f"https://app.example/{n}")) for n in range(DOCUMENT.each + 3)]
        known = await stranger.get(authorize(next(iter(PINNED)), "https://claude.ai/api/mcp/auth_callback"))

    assert [each.status_code for each in found] == [200] * DOCUMENT.each + [429] * 3
    assert "retry-after" in found[-1].headers
    assert known.status_code == 200
    assert len(slow.asked) == DOCUMENT.each


async def test_so_are_those_that_it_names_at_the_token_endpoint(tmp_path: Path) -> None:
    async with running_app(tmp_path, fetch_document=Slow()) as vitals:
        http = coming_from(vitals, STRANGER)
        found = [await refresh(http, f"https://app.example/{n}", "vrt_x") for n in range(DOCUMENT.each + 1)]

    assert [each.status_code for each in found] == [400] * DOCUMENT.each + [429]


async def test_an_app_that_is_connected_by_its_document_goes_on_where_strangers_used_everything_up(
    tmp_path: Path,
) -> None:
    slow, app = Slow(), "https://app.example/client"
    async with running_app(tmp_path, fetch_document=slow) as vitals:
        code = handed_over(await approve_and_sign_in(vitals, app))["code"]
        shared = coming_from(vitals, STRANGER)
        tokens = (await redeem(shared, app, code)).json()
        vitals.clock.at += 24 * 3600  # the copy is no longer fresh
        for number in range(DOCUMENT.each + 1):
            last = await shared.get(authorize(f"https://app.example/{number}"))
        renewed = await refresh(shared, app, tokens["refresh_token"])

    assert last.status_code == 429
    assert renewed.status_code == 200
    assert slow.asked.count(app) == 2


async def test_a_flood_of_documents_leaves_next_to_nothing_and_an_app_beyond_it_connects(tmp_path: Path) -> None:
    async with running_app(tmp_path, fetch_document=Slow()) as vitals:
        http = vitals.http()
        for number in range(DOCUMENT_RECORDS.amount + 30):
            answer = await http.get(
                authorize(f"https://app.example/{number}"), headers={"x-forwarded-for": address(number)}
            )
            assert answer.status_code == 200
        app = "https://honest.example/client"
        code = handed_over(await approve_and_sign_in(vitals, app, http=coming_from(vitals, OWNER)))["code"]
        tokens = (await redeem(coming_from(vitals, OWNER), app, code)).json()
        renewed = await refresh(coming_from(vitals, OWNER), app, tokens["refresh_token"])

        assert len(await records(vitals, "cimd:")) == DOCUMENT_RECORDS.amount + 1  # it is kept, for a grant uses it
        assert renewed.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        *({"sec-fetch-dest": kind} for kind in ("image", "script", "style", "iframe", "object", "empty", "audio", "")),
        pytest.param({"sec-fetch-dest": "document", "sec-purpose": "prefetch"}, id="fetched ahead"),
        pytest.param({"sec-fetch-dest": "document", "sec-purpose": "prefetch;prerender"}, id="drawn ahead"),
    ],
    ids=lambda headers: headers["sec-fetch-dest"] or "nothing",
)
async def test_a_web_page_cannot_use_up_the_documents_that_its_readers_address_may_name(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    slow = Slow()
    async with running_app(tmp_path, fetch_document=slow) as vitals:
        reader = coming_from(vitals, OWNER)
        parts = [
            await reader.get(authorize(f"https://app.example/{n}"), headers=headers) for n in range(DOCUMENT.each + 1)
        ]
        visit = await reader.get(
            authorize("https://honest.example/client"),
            headers={"sec-fetch-dest": "document", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        )

        assert {each.status_code for each in parts} == {403}
        assert visit.status_code == 200
        assert slow.asked == ["https://honest.example/client"]
        assert len(await records(vitals, "rate:slot/")) == 1  # the visit's


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param({"origin": "https://evil.example", "sec-fetch-site": "cross-site"}, id="another site"),
        pytest.param({"origin": "https://other.vitals.test", "sec-fetch-site": "same-site"}, id="a host beside us"),
        pytest.param({"origin": "null", "sec-fetch-site": "cross-site"}, id="a sandboxed frame"),
        pytest.param({"sec-fetch-site": "cross-site"}, id="no origin"),
    ],
)
@pytest.mark.parametrize("path", ["/token", "/revoke"])
async def test_nor_by_posting_them_where_tokens_are_asked_for(
    tmp_path: Path, path: str, origin: dict[str, str]
) -> None:
    slow = Slow()
    async with running_app(tmp_path, fetch_document=slow) as vitals:
        reader = coming_from(vitals, OWNER)
        posts = [
            await reader.post(f"{URL}{path}", data={"client_id": f"https://app.example/{n}"}, headers=origin)
            for n in range(DOCUMENT.each + 1)
        ]
        visit = await reader.get(authorize("https://honest.example/client"))

    assert {each.status_code for each in posts} == {403}
    assert visit.status_code == 200
    assert slow.asked == ["https://honest.example/client"]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="a server"),
        pytest.param({"sec-fetch-mode": "cors"}, id="node"),
        pytest.param({"origin": "http://tauri.localhost"}, id="a webview's own client"),
        pytest.param({"origin": "vscode-file://vscode-app", "sec-fetch-site": "cross-site"}, id="an editor"),
    ],
)
async def test_an_app_that_is_no_web_page_renews_its_access_whatever_it_says_of_its_origin(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    app = "https://app.example/client"
    async with running_app(tmp_path, fetch_document=Slow()) as vitals:
        code = handed_over(await approve_and_sign_in(vitals, app))["code"]
        http = coming_from(vitals, STRANGER)
        http.headers.update(headers)
        tokens = (await redeem(http, app, code)).json()

        assert (await refresh(http, app, tokens["refresh_token"])).status_code == 200
