"""The catalogue of cases against the tests that are there."""

from pathlib import Path

import pytest

from tests.cases.catalogue import LATER, REQUIRED, SHOWN
from tests.collected import ROOT, functions, is_test


@pytest.mark.parametrize("case", REQUIRED)
def test_every_case_that_must_hold_is_shown(case: str) -> None:
    assert SHOWN.get(case)


@pytest.mark.parametrize("case", SHOWN)
def test_every_test_that_the_catalogue_names_exists(case: str) -> None:
    assert [node for node in SHOWN[case] if not is_test(node)] == []


def test_a_case_is_shown_or_its_gap_has_a_reason_and_never_both() -> None:
    assert not SHOWN.keys() & LATER.keys()
    assert all(len(reason) > 20 for reason in LATER.values())


HERE = Path(__file__).parent
REPLAYS = sorted([*HERE.glob("test_[a-z].py"), *HERE.glob("test_[a-z]_*.py")])


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.name)
def test_every_replay_is_in_the_catalogue(path: Path) -> None:
    listed = {node.partition("::")[2] for nodes in SHOWN.values() for node in nodes}
    listed |= {name.strip(".,:;") for reason in LATER.values() for name in reason.split()}

    assert {name for name in functions(str(path.relative_to(ROOT))) if name.startswith("test_")} <= listed
