"""Ten answers as they were read and found right; see README.md here for how to renew them."""

from pathlib import Path

import pytest

from tests.golden.questions import FOLDER, QUESTIONS, answered

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", QUESTIONS)
async def test_an_answer_is_the_one_that_was_read_and_found_right(tmp_path: Path, name: str) -> None:
    assert await answered(QUESTIONS[name], tmp_path) == (FOLDER / f"{name}.json").read_text()


def test_no_answer_is_kept_that_no_question_gives() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(QUESTIONS)
