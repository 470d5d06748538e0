"""`python -m tests.golden`: write the answers anew, to be read before they are kept."""

import tempfile
from pathlib import Path

import anyio

from tests.golden.questions import FOLDER, QUESTIONS, answered


async def _renew() -> None:
    for name, question in QUESTIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            text = await answered(question, Path(folder))
        (FOLDER / f"{name}.json").write_text(text)


anyio.run(_renew)
