"""Faults on demand, the log, and steering from another process."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
import uvicorn

from app.simulator import ConnectionCut, Simulator
from tests.simulator.conftest import Asker, Clock, Connect

CLIENT = {"client_id": "demo-client", "client_secret": "demo-secret-not-a-real-one"}
HEART = {"start_datetime": "2026-03-24T00:00:00+01:00", "end_datetime": "2026-03-25T00:00:00+01:00"}


def _refresh(token: object) -> dict[str, str]:
    return {"grant_type": "refresh_token", "refresh_token": str(token)} | CLIENT


@asynccontextmanager
async def _served(sim: Simulator) -> AsyncIterator[str]:
    """Serve on a real loopback socket, in this event loop."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(sim.app, lifespan="off", ws="none", log_config=None))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listening])
        with anyio.fail_after(5):
            while not server.started:
                await anyio.lowlevel.checkpoint()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True


async def test_a_status_strikes_the_next_n_requests_of_a_path_and_no_other(oura: Asker) -> None:
    oura.sim.faults.add("status", "*/sleep", status=503, times=2)

    statuses = [(await oura.get("sleep")).status_code for _ in range(3)]

    assert (await oura.get("tag")).status_code == 200
    assert statuses == [503, 503, 200]


async def test_a_429_carries_its_headers_and_a_403_its_text(oura: Asker) -> None:
    oura.sim.faults.add("status", "*/sleep", status=429, seconds=7)
    oura.sim.faults.add("status", "*/tag", status=403)

    assert (await oura.get("sleep")).headers["retry-after"] == "7"
    assert "membership" in (await oura.get("tag")).json()["detail"]


@pytest.mark.parametrize("status", [200, 502])
async def test_html_comes_under_any_status(status: int, oura: Asker) -> None:
    oura.sim.faults.add("html", status=status)

    answer = await oura.get("sleep")

    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")


async def test_a_repeated_cursor_leads_to_the_same_page_for_ever(oura: Asker) -> None:
    oura.sim.faults.add("repeat_cursor", "*/heartrate", times=None)

    first = (await oura.get("heartrate", **HEART)).json()
    second = (await oura.get("heartrate", next_token=first["next_token"])).json()

    assert second == first


@pytest.mark.parametrize("collection", ["heartrate", "sleep"])
async def test_endless_pages_each_have_a_new_cursor(collection: str, oura: Asker) -> None:
    oura.sim.faults.add("endless", f"*/{collection}", times=None)
    cursors: set[str] = set()
    params: dict[str, str] = {}
    for _ in range(5):
        body = (await oura.get(collection, **params)).json()
        assert body["data"]
        cursors.add(body["next_token"])
        params = {"next_token": body["next_token"]}

    assert len(cursors) == 5


async def test_truncated_json_and_wrong_types_come_with_200(oura: Asker) -> None:
    whole = await oura.get("sleep")
    oura.sim.faults.add("truncate")
    cut = await oura.get("sleep")
    oura.sim.faults.add("wrong_types")
    wrong = await oura.get("sleep")

    assert cut.status_code == wrong.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        cut.json()
    assert isinstance(whole.json()["data"], list)
    assert isinstance(wrong.json()["data"], dict)


async def test_a_drip_arrives_whole_in_the_end(oura: Asker) -> None:
    whole = await oura.get("daily_sleep")
    oura.sim.faults.add("drip", seconds=0)

    assert (await oura.get("daily_sleep")).content == whole.content


@pytest.mark.parametrize("kind", ["gigantic", "bomb"])
async def test_far_more_than_the_page_is_sent_and_a_bomb_travels_small(kind: str, clock: Clock) -> None:
    sim = Simulator(now=clock)
    token = sim.sign_in()["access_token"]
    sim.faults.add(kind, "/v2/*", size_mb=3)  # type: ignore[arg-type]  # the table above holds literals

    async with _served(sim) as url, httpx2.AsyncClient(base_url=url) as http:
        with anyio.fail_after(10):
            answer = await http.get("/v2/usercollection/daily_sleep", headers={"authorization": f"Bearer {token}"})

    assert len(answer.content) > 3 * 2**20
    assert answer.json()["data"] is not None
    assert (answer.num_bytes_downloaded < 2**16) == (kind == "bomb")


async def test_over_a_real_socket_a_cut_in_the_body_ends_it_half_way(clock: Clock) -> None:
    sim = Simulator(now=clock)
    token = sim.sign_in()["access_token"]
    sim.faults.add("cut_body", "/v2/*")

    async with _served(sim) as url, httpx2.AsyncClient(base_url=url) as http:
        headers = {"authorization": f"Bearer {token}"}
        with anyio.fail_after(5):
            async with http.stream("GET", "/v2/usercollection/daily_sleep", headers=headers) as answer:
                pieces = answer.aiter_bytes()
                came = await anext(pieces)
                with pytest.raises(httpx2.TransportError):
                    await anext(pieces)

    assert answer.status_code == 200
    assert 0 < len(came) < int(answer.headers["content-length"])


async def test_latency_delays_the_answer(oura: Asker) -> None:
    oura.sim.faults.add("latency", seconds=0.02)
    before = anyio.current_time()

    assert (await oura.get("sleep")).status_code == 200
    assert anyio.current_time() - before >= 0.02


async def test_a_cut_after_spending_loses_the_answer_and_the_token(oura: Asker) -> None:
    token = oura.sim.sign_in()["refresh_token"]
    oura.sim.faults.add("cut", "/oauth/token")

    with pytest.raises(ConnectionCut):
        await oura.http.post("/oauth/token", data=_refresh(token))

    assert oura.sim.counts.refreshed == 1
    again = await oura.http.post("/oauth/token", data=_refresh(token))
    assert again.json()["error_description"] == "Refresh token already used."


async def test_a_cut_before_handling_spends_nothing_and_raises_what_the_test_wants(oura: Asker) -> None:
    token = oura.sim.sign_in()["refresh_token"]
    oura.sim.faults.cut_error = lambda: httpx2.ReadError("cut")
    oura.sim.faults.add("cut_before", "/oauth/token")

    with pytest.raises(httpx2.ReadError):
        await oura.http.post("/oauth/token", data=_refresh(token))

    assert (await oura.http.post("/oauth/token", data=_refresh(token))).status_code == 200


async def test_a_held_answer_is_spent_first_and_sent_on_release(oura: Asker) -> None:
    token = oura.sim.sign_in()["refresh_token"]
    oura.sim.faults.add("hold", "/oauth/token")
    answers: list[httpx2.Response] = []

    async def ask() -> None:
        answers.append(await oura.http.post("/oauth/token", data=_refresh(token)))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await oura.sim.faults.spent.wait()
            assert (oura.sim.counts.refreshed, oura.sim.faults.held, answers) == (1, 1, [])
            oura.sim.faults.release()

    assert answers[0].status_code == 200
    assert oura.sim.faults.held == 0


@pytest.mark.parametrize("kind", ["cut", "cut_before"])
async def test_over_a_real_socket_a_cut_ends_the_connection_without_a_byte(kind: str, clock: Clock) -> None:
    sim = Simulator(now=clock)
    token = sim.sign_in()["refresh_token"]
    sim.faults.add(kind, "/oauth/token")  # type: ignore[arg-type]  # the table above holds literals

    async with _served(sim) as url, httpx2.AsyncClient(base_url=url) as http:
        with anyio.fail_after(5), pytest.raises(httpx2.TransportError):
            await http.post("/oauth/token", data=_refresh(token))
        after = await http.get("/v2/usercollection/personal_info")

    assert sim.counts.refreshed == (kind == "cut")
    assert after.status_code == 400  # alive; no token was sent


async def test_the_log_never_holds_a_token_a_code_or_a_state(oura: Asker) -> None:
    tokens = oura.sim.sign_in()
    renewed = (await oura.http.post("/oauth/token", data=_refresh(tokens["refresh_token"]))).json()
    await oura.http.post("/oauth/revoke", params={"access_token": renewed["access_token"]})
    back = await oura.http.get(
        "/oauth/authorize",
        params={"client_id": "demo-client", "redirect_uri": "https://a.example/", "response_type": "code",
                "state": "my-state", "sim_auto": "owner"},
    )  # fmt: skip
    code = back.headers["location"].split("code=")[1].split("&")[0]
    await oura.get("sleep", start_date="2026-03-01", fields="day")

    seen = repr(oura.sim.log) + repr(oura.sim.state())

    for secret in (*tokens.values(), renewed["access_token"], renewed["refresh_token"], code, "my-state", oura.token):
        assert str(secret) not in seen or isinstance(secret, float)
    assert oura.sim.log[-1].query == {"start_date": "2026-03-01", "fields": "day"}
    assert oura.sim.counts.data == {"/v2/usercollection/sleep": 1}


async def test_control_routes_exist_only_where_asked_for(oura: Asker) -> None:
    for path in ("faults", "expire", "member"):
        assert (await oura.http.post(f"/_sim/{path}", json={})).status_code == 404
    for path in ("log", "state", "truth/sleep"):
        assert (await oura.http.get(f"/_sim/{path}")).status_code == 404


async def test_another_process_can_steer_it(clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, control=True))
    await oura.http.post("/_sim/faults", json={"kind": "status", "path": "*/tag", "status": 500, "times": 1})

    assert (await oura.get("tag")).status_code == 500
    assert (await oura.http.get("/_sim/log")).json()[0]["status"] == 500
    assert (await oura.http.post("/_sim/faults", json={"kind": "earthquake"})).status_code == 400
    truth = await oura.http.get("/_sim/truth/sleep", params={"start": "2026-03-01", "end": "2026-03-02"})
    assert truth.json() == oura.sim.truth("sleep", "2026-03-01", "2026-03-02")
    await oura.http.post("/_sim/member", json={"member": False})
    assert (await oura.get("tag")).status_code == 403
    assert (await oura.http.post("/_sim/expire")).json() == {"expired": 1}
    assert (await oura.get("tag")).status_code == 401
    state = (await oura.http.get("/_sim/state")).json()
    assert state["families"][0]["alive"]
    assert state["counts"]["data_requests"] == 3


async def test_an_answer_held_for_another_process_is_counted_in_the_state(clock: Clock) -> None:
    sim = Simulator(now=clock, control=True)
    token = sim.sign_in()["refresh_token"]

    async with _served(sim) as url, httpx2.AsyncClient(base_url=url) as http:
        await http.post("/_sim/faults", json={"kind": "hold", "path": "/oauth/token"})
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: http.post("/oauth/token", data=_refresh(token)))
                while (await http.get("/_sim/state")).json()["held"] == 0:
                    await anyio.lowlevel.checkpoint()
                await http.post("/_sim/faults", json={"release": True})

    assert sim.counts.refreshed == 1


async def test_lifespan_messages_are_answered_with_nothing_to_start(sim: Simulator) -> None:
    incoming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[str] = []

    async def receive() -> dict[str, str]:
        return incoming.pop(0)

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append(message["type"])

    await sim.app({"type": "lifespan"}, receive, send)

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
