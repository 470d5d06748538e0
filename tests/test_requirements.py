"""Every line of `tests.requirements` has its test, or says why not, and names no test that is not there."""

import re

import pytest

from tests.collected import is_test
from tests.requirement_tables.line import Line
from tests.requirements import ADVISORIES, CHECKLIST, REQUIREMENTS, SPECIFICATIONS, as_text

# What the tables must speak of; how many lines there are at least, so that a table cannot be lost in passing.
DOCUMENTS = {
    "MCP-2025-11-25": 25, "MCP-2026-07-28": 30, "MCP-best": 15, "6749": 60, "7636": 8, "7009": 8, "7591": 17,
    "8414": 10, "8707": 5, "9207": 3, "9728": 10, "9700": 30,
}  # fmt: skip
_HOLES = """
    CVE-2025-4143 CVE-2025-4144 CVE-2025-6514 CVE-2025-49596 CVE-2025-58444 CVE-2025-61920 CVE-2025-66416 CVE-2025-69196
    CVE-2026-24486 CVE-2026-25536 CVE-2026-27124 CVE-2026-27962 CVE-2026-28498 CVE-2026-28802 CVE-2026-32597
    CVE-2026-33946 CVE-2026-41479 CVE-2026-44681 CVE-2026-48710 GHSA-6x8h-498w-gv8c GHSA-8r9q-7v3j-jr4g
    GHSA-c2jp-c369-7pvx GHSA-j975-95f5-7wqh GHSA-rww4-4w9c-7733 GHSA-vv7q-7jx5-f767 GHSA-wx5f-576r-gpcx
"""
HOLES = tuple(_HOLES.split())
ENOUGH_WORDS = 20  # characters; below it a reason is an excuse


@pytest.mark.parametrize("line", REQUIREMENTS, ids=lambda line: line.id)
def test_a_demand_is_shown_by_tests_that_exist_or_says_why_not(line: Line) -> None:
    assert line.says
    assert "\n" not in as_text(line)
    assert not (line.gap and line.not_ours)
    reason = line.gap or line.not_ours
    assert line.tests or len(reason) > ENOUGH_WORDS
    assert not reason or len(reason) > ENOUGH_WORDS
    assert not (line.not_ours and line.tests), "what is not ours needs no test"
    assert [node for node in line.tests if not is_test(node)] == []
    assert len(set(line.tests)) == len(line.tests)


def test_no_id_stands_twice() -> None:
    ids = [line.id for line in REQUIREMENTS]

    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_document_is_gone_through(document: str) -> None:
    lines = [line for line in SPECIFICATIONS if line.id.startswith(f"{document}-")]

    assert len(lines) >= DOCUMENTS[document]


@pytest.mark.parametrize("line", [*SPECIFICATIONS, *ADVISORIES], ids=lambda line: line.id)
def test_a_demand_can_be_looked_up(line: Line) -> None:
    assert re.fullmatch(r"https://[^\s{}]+", line.link)


def test_every_hole_is_tried_by_a_test_under_its_number() -> None:
    tried = {line.id: line.tests for line in ADVISORIES}

    assert set(HOLES) <= tried.keys()
    for hole, tests in tried.items():
        assert tests, hole
        assert all("test_advisories" in node for node in tests), hole
    for hole in set(HOLES) - {"GHSA-wx5f-576r-gpcx"}:  # told in the docstring of the one it repeats
        assert any(hole.lower().replace("-", "_") in node for node in tried[hole]), hole


def test_the_list_of_what_others_got_wrong_is_whole() -> None:
    parts = {line.source for line in CHECKLIST}

    assert parts >= {
        "Discovery", "401", "Registration", "Documents", "Authorize", "Redirects", "Consent", "Browser", "Token",
        "Refresh", "Revoke", "Resource", "Clients",
    }  # fmt: skip
    assert len(CHECKLIST) >= 75
