"""README.md says what is so: its commands, settings, tools and links are those of the code."""

import re
import time
from typing import Any

import click
import pytest

from app import cli, settings
from app.tools.about.prompts import PROMPTS
from app.tools.about.resources import ABOUT_URI, CATALOG_URI, COLLECTION_URI
from app.tools.server import CHATGPT_TOOLS, TOOLS
from tests.packaging.tree import ROOT, text, tracked

README = text("README.md")


def section(title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {title!r}"
    return found[1]


def settings_table() -> dict[str, str]:
    rows = re.findall(r"^\| `([A-Z_]+)` \| .+ \| (.+) \|$", section("Settings"), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a setting stands twice in the table"
    return dict(rows)


@pytest.mark.parametrize("end", ["vitals demo", "pytest"])
def test_one_line_makes_a_venv_installs_and_runs(end: str) -> None:
    lines = re.findall(rf"^python3 -m venv \.venv && .*\.venv/bin/{end}$", README, re.MULTILINE)

    assert len(lines) == 1
    files = re.findall(r"-r (\S+)", lines[0])
    assert files, "nothing pins what is installed"
    assert set(files) <= set(tracked())
    assert "--no-deps --no-build-isolation" in lines[0], "something would be fetched without a hash"


def test_ci_takes_both_lines_out_of_the_readme() -> None:
    script = text(".ci/run")

    assert "readme_line pytest" in script
    assert 'readme_line "vitals demo"' in script
    assert "pip install -r constraints" not in script, "CI has a line of its own, which can drift"


def test_the_settings_table_names_every_setting_and_no_other() -> None:
    assert set(settings_table()) == set(settings.NAMES)


def test_the_defaults_in_the_table_are_those_of_the_code() -> None:
    table = settings_table()

    for name in ("HOST", "PORT", "ANSWER_MAX_CHARS", "LOG_LEVEL"):
        assert table[name] == f"`{settings.Settings.model_fields[name.lower()].default}`"
    assert settings.Settings.model_fields["data_dir"].default == (ROOT / "data").relative_to(ROOT)
    assert table["DATA_DIR"] == "`./data`"


def test_the_scopes_to_tick_are_those_that_are_asked_for() -> None:
    step = section("Register the Oura application").split("3. Tick the scopes", 1)[1].split("4. ", 1)[0]
    shown = re.findall(r"`(\w+)`", step.split(".", 1)[0].split(":", 1)[1])

    assert sorted(shown) == sorted(settings.Settings.model_fields["oura_scopes"].default)


def test_the_redirect_uri_is_the_one_that_is_sent() -> None:
    configured = settings.load_settings({"OURA_SANDBOX": "1", "PUBLIC_URL": "https://vitals.example.com"})

    assert f"`{configured.redirect_uri}`" in section("Register the Oura application")


def test_every_tool_is_there_with_three_questions() -> None:
    shown = re.findall(r"^\*\*`(\w+)`\*\*:.*\n((?:.*\n)*?)(?=\n)", section("Tools, and what to ask"), re.MULTILINE)

    assert {name for name, _ in shown} == {tool.name for tool in TOOLS}
    for name, questions in shown:
        assert len(re.findall(r'^- ".+"$', questions, re.MULTILINE)) == 3, name


def test_no_tool_is_named_that_does_not_exist() -> None:
    assert set(re.findall(r"\bhealth_[a-z_]+\b", README)) == {tool.name for tool in TOOLS}


def test_prompts_and_pages_are_those_that_are_offered() -> None:
    part = section("Ready-made questions and pages")

    assert re.findall(r"^- `(\w+)`:", part, re.MULTILINE) == [prompt.name for prompt in PROMPTS]
    assert set(re.findall(r"`(vitals://[^`]+)`", part)) == {
        ABOUT_URI, CATALOG_URI, COLLECTION_URI.replace("{name}", "NAME"),
    }  # fmt: skip


def test_the_tools_for_chatgpt_are_named_with_the_setting_that_offers_them() -> None:
    part = section("ChatGPT without developer mode")

    assert "`CHATGPT_TOOLS=1`" in part
    assert re.findall(r"^- `(\w+)`:", part, re.MULTILINE) == [tool.name for tool in CHATGPT_TOOLS]


def test_every_command_and_option_named_exists() -> None:
    command: Any = cli.main
    assert isinstance(command, click.Group)
    listed = section("Settings").split("\nCommands: ", 1)[1]

    named = {name: set(re.findall(r"--\w+", options or "")) for name, options in _commands(listed)}
    exist = {
        name: {flag for option in sub.params for flag in option.opts if flag.startswith("--")}
        for name, sub in command.commands.items()
    }

    assert named == exist
    assert set(re.findall(r"(?:^|[ /`])vitals (serve|demo|check|secret|disconnect)\b", README)) <= set(exist)


def _commands(line: str) -> list[tuple[str, str]]:
    return re.findall(r"`vitals (\w+)`(?: \(([^)]*)\))?", line)


def test_every_link_to_a_file_or_a_heading_leads_somewhere() -> None:
    headings = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    }

    for page in ("README.md", "SECURITY.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)]+)\)", text(page)):
            if target.startswith("#"):
                assert target[1:] in headings, target
            elif not target.startswith("https://"):
                assert target in tracked(), f"{page} links to {target}, which is not in the repository"


def test_files_that_a_step_copies_or_names_exist() -> None:
    for name in re.findall(r"\bdeploy/[\w.]+", README):
        if name != "deploy/":
            assert name in tracked(), name


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    assert text("CHANGELOG.md").split("\n## ")[1].startswith("[Unreleased]")


def test_the_licence_names_its_year() -> None:
    year = int(re.findall(r"Copyright \(c\) (\d{4})", text("LICENSE"))[0])

    assert 2026 <= year <= time.gmtime().tm_year
