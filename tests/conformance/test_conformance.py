"""The conformance suite of the MCP project, its scenarios that need no fixture tools, both eras.

`.ci/run` installs it from `.ci/conformance` and says where in VITALS_CONFORMANCE. The suite cannot send a token, so the
connector is served with one added (`bearing`).
"""

import json
import os
from pathlib import Path

import anyio
import pytest

from tests.conformance.bearing import open_to_all
from tests.node import node_for

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

SCENARIOS = {
    "2025-11-25": (
        "server-initialize", "ping", "tools-list", "tools-call-error", "resources-list", "prompts-list",
        "server-session-lifecycle", "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "server-stateless", "tools-list", "tools-call-error", "resources-list", "prompts-list", "caching",
        "http-header-validation", "sep-2164-resource-not-found", "input-required-result-unsupported-methods",
        "dns-rebinding-protection",
    ),
}  # fmt: skip


def command() -> list[str]:
    """How to start the suite: with the Node that was installed beside it, or another of at least 22."""
    folder = os.environ.get("VITALS_CONFORMANCE", "")
    script = Path(folder, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
    if not folder or not script.is_file():
        pytest.skip("No conformance suite. Run `npm ci` in .ci/conformance and name that folder in VITALS_CONFORMANCE.")
    node = node_for(Path(folder, "node_modules"))
    if node is None:
        pytest.skip("The conformance suite needs Node 22.")
    return [node, str(script), "server"]


# What a scenario reports beside success, check by check. The first two call a tool that asks its client for a sampling
# capability, by a name that the suite's own example server gives it; a product has no such tool. Those that are skipped
# want changes of lists to be announced, and ours never change.
NOT_PASSED = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability": "FAILURE",
        "sep-2575-missing-capability-http-400": "FAILURE",
        "sep-2575-server-sends-subscription-ack": "SKIPPED",
        "sep-2575-server-tags-subscription-id": "SKIPPED",
        "sep-2575-server-honors-notification-filter": "SKIPPED",
        "sep-2575-server-sends-prompts-list-changed-on-subscription": "SKIPPED",
        "sep-2575-server-sends-tools-list-changed-on-subscription": "SKIPPED",
    },
}

# Has nothing to pass or fail: it tells that no session was given out, which is how it should be.
ONLY_TOLD = {"server-session-lifecycle"}


async def checks(command: list[str], url: str, scenario: str, era: str, folder: Path) -> list[tuple[str, str]]:
    """Run one scenario; return the name and status of each of its checks, some of which it makes repeatedly."""
    asked = ["--url", url, "--scenario", scenario, "--spec-version", era, "--output-dir", str(folder)]
    with anyio.fail_after(60):
        ran = await anyio.run_process([*command, *asked], check=False, env={"PATH": os.environ["PATH"]})
    return _reported(folder, ran.stdout + ran.stderr)


def _reported(folder: Path, said: bytes) -> list[tuple[str, str]]:
    reports = list(folder.rglob("checks.json"))
    assert len(reports) == 1, said.decode()
    found = [(each["id"], each["status"]) for each in json.loads(reports[0].read_text())]
    assert found, "a scenario that checks nothing says nothing"
    return found


@pytest.mark.parametrize("era", SCENARIOS)
async def test_every_scenario_passes_but_for_what_is_named_here(era: str, tmp_path: Path) -> None:
    run = command()
    not_passed, only_told = {}, set()
    async with open_to_all(tmp_path / "data") as url:
        for scenario in SCENARIOS[era]:
            found = await checks(run, url, scenario, era, tmp_path / scenario)
            if not any(status == "SUCCESS" for _, status in found):
                only_told.add(scenario)
            not_passed[scenario] = {name: status for name, status in found if status not in {"SUCCESS", "INFO"}}

    assert not_passed == {scenario: NOT_PASSED.get(scenario, {}) for scenario in SCENARIOS[era]}
    assert only_told == ONLY_TOLD & set(SCENARIOS[era])
