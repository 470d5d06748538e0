"""What comes from others, and what we let pass: exact, checked against a hash, and each exception with its reason."""

import json
import re
import tomllib
from typing import Any

import pytest

from tests.packaging.test_constraints import FILES
from tests.packaging.tree import text, tracked

LOCK: dict[str, Any] = json.loads(text(".ci/conformance/package-lock.json"))
RUFF: dict[str, Any] = tomllib.loads(text("pyproject.toml"))["tool"]["ruff"]["lint"]
SCRIPTS = (".ci/run", ".ci/lock", "Dockerfile", "README.md")
# Where a security rule of the linter does not hold, and no further: `S` is all of them.
EXCUSED = {"tests/**": {"S"}, "bench/**": {"S"}, "app/simulator/**": {"S311"}}


class TestNpm:
    def test_every_package_is_checked_against_a_hash_and_none_names_where_it_comes_from(self) -> None:
        packages = {name: entry for name, entry in LOCK["packages"].items() if name}

        assert len(packages) > 50
        for name, entry in packages.items():
            assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", entry["integrity"]), name
            assert "resolved" not in entry, name
            assert not entry.get("link"), name

    def test_what_is_asked_for_is_an_exact_version_and_the_lock_is_of_this_file(self) -> None:
        asked = json.loads(text(".ci/conformance/package.json"))
        direct = asked["dependencies"] | asked["optionalDependencies"]

        assert all(re.fullmatch(r"\d+\.\d+\.\d+(-[a-z]+\.\d+)?", version) for version in direct.values())
        root = LOCK["packages"][""]
        assert root["dependencies"] | root["optionalDependencies"] == direct
        for name, version in direct.items():
            assert LOCK["packages"][f"node_modules/{name}"]["version"] == version

    def test_no_package_runs_a_script_of_its_own_when_it_is_installed(self) -> None:
        installs = re.findall(r"npm (?:ci|install|i)\b.*", text(".ci/run"))

        assert len(installs) == 1
        assert installs[0].startswith("npm ci ")
        assert "--ignore-scripts" in installs[0]


def test_whatever_pip_installs_is_checked_against_hashes_or_is_this_project() -> None:
    """A file in which every entry has its hash makes pip ask for one of whatever else it would install."""
    installs = [
        (name, arguments)
        for name in SCRIPTS
        for arguments in re.findall(r"pip\"? install ([^&|\n`]*)", text(name))
        if arguments.strip() != "--quiet uv"  # writes those hashes, on the machine of whoever changes a dependency
    ]

    assert len(installs) > 8
    for name, arguments in installs:
        own = "--no-deps" in arguments and "--no-build-isolation" in arguments
        files = re.findall(r"-r (\S+)", arguments)
        assert own or (files and set(files) <= set(FILES)), (name, arguments)


def test_no_workflow_runs_an_action_that_is_not_pinned_to_a_commit() -> None:
    """A tripwire: there is no workflow yet, and the first one that comes is held to this."""
    used = [
        (name, action)
        for name in tracked(".github", "*.yml", "*.yaml")
        for action in re.findall(r"^\s*-?\s*uses:\s*(\S+)", text(name), re.MULTILINE)
    ]

    assert [(name, action) for name, action in used if not re.search(r"@[0-9a-f]{40}$", action)] == []


def test_no_script_runs_what_it_has_just_fetched() -> None:
    fetched = re.compile(r"(curl|wget)\b[^\n]*\|\s*(sudo\s+)?(ba|z|da)?sh\b|(bash|sh) <\(")

    assert [name for name in SCRIPTS if fetched.search(text(name))] == []


class TestLinter:
    def test_every_security_rule_is_on(self) -> None:
        assert "S" in RUFF["select"]
        assert not [rule for rule in RUFF["ignore"] if re.fullmatch(r"S\d*|BLE\d*", rule)]
        assert "exclude" not in RUFF

    def test_they_are_off_only_where_it_is_said_here(self) -> None:
        off = {
            where: {rule for rule in rules if re.fullmatch(r"S\d*", rule)}
            for where, rules in RUFF["per-file-ignores"].items()
        }

        assert {where: rules for where, rules in off.items() if rules} == EXCUSED

    @pytest.mark.parametrize("kind", ["noqa", "type: ignore"])
    def test_every_exception_in_the_code_names_its_rule_and_its_reason(self, kind: str) -> None:
        rule = r"noqa: [A-Z]+\d+(, [A-Z]+\d+)*" if kind == "noqa" else r"type: ignore\[[a-z-]+(, ?[a-z-]+)*\]"
        found = [
            (name, line.strip())
            for name in tracked("app/*.py", "app/**/*.py")
            for line in text(name).splitlines()
            if kind in line
        ]

        assert found
        assert [each for each in found if not re.search(rf"# {rule}\s+(--?|#)\s*\S.{{5,}}", each[1])] == []
