"""The constraints files: exact, hashed, without an index, and what pyproject.toml asks for."""

import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.packaging.tree import text

FILES = ("constraints.txt", "constraints-test.txt", ".ci/mcp1.txt", ".ci/authlab.txt")
PROJECT: dict[str, Any] = tomllib.loads(text("pyproject.toml"))


ENTRY = re.compile(r"^(\S+)==(\S+)(?: ; .+?)? \\\n((?:    --hash=.+\n)+)", re.MULTILINE)


def pinned(name: str) -> dict[str, tuple[Version, int]]:
    """Canonical name → version and number of hashes; of a package in two versions, by Python's, the later one."""
    return {
        canonicalize_name(package): (Version(version), hashes.count("--hash="))
        for package, version, hashes in ENTRY.findall(text(name))
    }


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_an_exact_version_with_sha256_hashes_or_a_comment(name: str) -> None:
    for line in text(name).splitlines():
        assert re.fullmatch(
            r"#.*|    # .*|[a-zA-Z0-9._-]+==[a-zA-Z0-9.!+_-]+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line
        ), line
    assert all(hashes >= 1 for _, hashes in pinned(name).values())
    assert len(ENTRY.findall(text(name))) == len(re.findall(r"^[^\s#]", text(name), re.MULTILINE)), "one without a hash"


@pytest.mark.parametrize(
    ("name", "extras"),
    [("constraints.txt", ()), ("constraints-test.txt", ("test", "lint"))],
)
def test_what_pyproject_asks_for_is_pinned_within_its_range(name: str, extras: tuple[str, ...]) -> None:
    asked = PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]
    for extra in extras:
        asked = asked + PROJECT["project"]["optional-dependencies"][extra]

    have = pinned(name)
    for requirement in map(Requirement, asked):
        assert canonicalize_name(requirement.name) in have, f"{requirement.name} is not in {name}: run .ci/lock"
        version, _ = have[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is not met by {version}: run .ci/lock"


def test_the_tests_run_with_the_versions_that_are_served() -> None:
    assert pinned("constraints.txt").items() <= pinned("constraints-test.txt").items()


def test_the_older_client_is_the_last_one_of_the_first_era() -> None:
    version, _ = pinned(".ci/mcp1.txt")["mcp"]

    assert (version.major, version.minor) == (1, 30)
