"""Published holes in the transport of other connectors and in the parsers that we stand on, each tried here.

A test is named after the hole; `tests/requirement_tables/advisories.py` lists them all.
"""

from pathlib import Path

import anyio
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.app_under_test import Vitals, rpc, running_app
from tests.attacks.attacker import ask, connected
from tests.packaging.test_constraints import PROJECT, pinned

pytestmark = pytest.mark.anyio

HOUSEHOLD = "owner@example.com, stranger@example.com"


async def test_ghsa_vv7q_7jx5_f767_no_argument_of_a_tool_becomes_a_path_or_a_query(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    asked = len(vitals.simulator.log)

    for name in ("../x", "a?b", "%2e%2e/x", "sleep/../../oauth/token", "sleep?a=b#c", "sleep\0"):
        named = await ask(vitals, tokens["access_token"], collection=name, day="2026-03-01")
        in_fields = await ask(vitals, tokens["access_token"], collection="sleep", day="2026-03-01", fields=[name])

        assert named.json()["result"]["isError"], name
        assert in_fields.status_code == 200
    sent = vitals.simulator.log[asked:]
    assert len(sent) >= 6  # a collection that exists is asked for, whatever its fields are said to be
    for seen in sent:
        assert seen.path == "/v2/usercollection/sleep"
        assert set(seen.query) <= {"start_date", "end_date"}


REBOUND = (
    {"host": "rebound.example"},
    {"host": "127.0.0.1:8000"},
    {"host": "vitals.test.evil.example"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
)


async def test_cve_2025_66416_ghsa_9h52_p55h_vw2f_ghsa_w48q_a_page_that_rebinds_its_name_reaches_nothing(
    vitals: Vitals,
) -> None:
    _, tokens = await connected(vitals)
    live = {"authorization": f"Bearer {tokens['access_token']}"}

    for headers in REBOUND:
        answer = await vitals.http().post(vitals.mcp_url, json=rpc("tools/list"), headers=live | headers)

        assert answer.status_code == (421 if "host" in headers else 403)
        assert "health_query" not in answer.text


MALFORMED: list[object] = [
    {"jsonrpc": "2.0", "id": {}, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 1, "method": 7},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": None, "arguments": 1}},
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 7}},
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": 1}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
    {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
    "x",
    [],
    None,
]


async def test_ghsa_j975_95f5_7wqh_no_malformed_message_is_a_fault_and_the_next_is_answered(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    http = vitals.http()

    for version in ("2025-11-25", "2026-07-28", "1999-01-01"):
        for message in MALFORMED:
            headers = {"authorization": f"Bearer {tokens['access_token']}", "mcp-protocol-version": version}
            with anyio.fail_after(10):
                answer = await http.post(vitals.mcp_url, json=message, headers=headers)
            assert answer.status_code < 500, (version, message)

    assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 200


async def test_python_sdk_2100_cve_2026_33946_the_session_of_another_is_no_way_to_their_data(tmp_path: Path) -> None:
    async with running_app(tmp_path, OURA_OWNER_EMAIL=HOUSEHOLD) as vitals:
        _, one = await connected(vitals)
        _, two = await connected(vitals, who="stranger")
        opened = await vitals.http().post(
            vitals.mcp_url,
            json=rpc(
                "initialize",
                {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
            ),
            headers={"authorization": f"Bearer {one['access_token']}"},
        )
        session = opened.headers.get("mcp-session-id", "a-guess")

        question = rpc("tools/call", {"name": "health_query", "arguments": {"collection": "personal_info"}})
        theirs = {"authorization": f"Bearer {two['access_token']}", "mcp-session-id": session}
        answer = await vitals.http().post(vitals.mcp_url, json=question, headers=theirs)
        stranger = await vitals.http().post(vitals.mcp_url, json=question, headers={"mcp-session-id": session})

        assert "mcp-session-id" not in opened.headers
        assert "stranger@example.com" in answer.text
        assert "owner@example.com" not in answer.text
        assert stranger.status_code == 401


async def test_cve_2026_25536_ghsa_345p_7cg4_v4c7_fifty_at_once_with_one_id_get_each_their_own(tmp_path: Path) -> None:
    async with running_app(tmp_path, OURA_OWNER_EMAIL=HOUSEHOLD) as vitals:
        held = [(await connected(vitals, who=who))[1]["access_token"] for who in ("owner", "stranger")]
        owners = ("owner@example.com", "stranger@example.com")
        answers: list[tuple[int, str]] = []

        async def one(number: int) -> None:
            answer = await ask(vitals, held[number % 2], collection="personal_info")  # always as request number 1
            answers.append((number % 2, answer.text))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for number in range(50):
                    group.start_soon(one, number)

        assert len(answers) == 50
        for whose, said in answers:
            assert owners[whose] in said
            assert owners[1 - whose] not in said


LONG = (
    "vitals://collections/" + "a" * 100_000,
    "vitals://collections/" + "{" * 50_000,
    "vitals://" + "a/" * 50_000,
    "vitals://collections/" + "%2e%2e%2f" * 10_000,
    "{" * 100_000 + "}",
)


async def test_ghsa_8r9q_7v3j_jr4g_no_resource_address_takes_long_to_refuse(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    headers = {"authorization": f"Bearer {tokens['access_token']}", "mcp-protocol-version": "2025-11-25"}

    for uri in LONG:
        with anyio.fail_after(5):
            answer = await vitals.http().post(vitals.mcp_url, json=rpc("resources/read", {"uri": uri}), headers=headers)

        assert answer.json()["error"]["code"] == -32002


# Below these versions the packages have known holes. PyJWT comes with the SDK, so only the constraints bound it.
BOUNDS = {
    "authlib": (
        "1.7.1",
        "CVE-2026-27962, CVE-2026-28802, CVE-2026-28498, CVE-2026-41479, CVE-2026-44681, CVE-2025-61920",
    ),
    "starlette": ("1.0.1", "CVE-2026-48710"),
    "python-multipart": ("0.0.22", "CVE-2026-24486"),
    "pyjwt": ("2.12", "CVE-2026-32597"),
    "mcp": ("1.23", "CVE-2025-66416, GHSA-j975-95f5-7wqh"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_cve_2026_28498_cve_2026_48710_cve_2026_24486_cve_2026_32597_no_version_with_a_known_hole_is_installed(
    name: str,
) -> None:
    least = Version(BOUNDS[name][0])
    asked = [each for each in map(Requirement, PROJECT["project"]["dependencies"]) if each.name.lower() == name]

    assert pinned("constraints.txt")[name][0] >= least
    assert name == "pyjwt" or asked
    for requirement in asked:
        (lowest,) = [each.version for each in requirement.specifier if each.operator == ">="]
        assert Version(lowest) >= least
