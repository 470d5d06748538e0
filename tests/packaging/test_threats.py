"""`deploy/THREATS.md` names tests that exist, speaks of everyone who attacks, and leaves no row without an answer."""

import re

import pytest

from tests.collected import is_test
from tests.packaging.tree import text

TEXT = text("deploy/THREATS.md")
PARTS = dict(re.findall(r"^## (.+)\n\n((?:.|\n)+?)(?=\n## |\Z)", TEXT, re.MULTILINE))
NAMED = sorted(set(re.findall(r"`([a-z_/0-9]+\.py::test_\w+)`", TEXT)))
ATTACKERS = (
    "A stranger on the internet",
    "A malicious app",
    "A malicious page in the owner's browser",
    "Another Oura user",
    "A hostile metadata document",
    "A hostile upstream: Oura, or who stands in its place",
    "Whoever reads the disk or Redis",
    "A curious operator of the host",
    "Whoever has an app's token",
)


def rows(part: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    lines = [line for line in PARTS[part].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("name", NAMED)
def test_every_test_that_it_names_exists(name: str) -> None:
    assert is_test(f"tests/{name}")


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_each_attack_has_what_stops_it_and_a_test_or_is_accepted(attacker: str) -> None:
    found = rows(attacker)

    assert len(found) >= 4
    for wants, stops, shown in found:
        assert wants
        assert stops
        assert re.search(r"`[a-z_/0-9]+\.py::test_\w+`", shown) or (shown == "-" and "see below" in stops)


def test_it_says_what_is_worth_having_and_what_is_accepted() -> None:
    assert len(rows("What is worth having")) >= 6
    assert all(len(row) == 2 and all(row) for row in rows("Accepted, and why"))
    assert len(NAMED) > 50


def test_security_md_leads_there() -> None:
    assert "](deploy/THREATS.md)" in text("SECURITY.md")
