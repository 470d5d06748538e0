"""The bench runs, and its README explains what it prints."""

import os
import re
import subprocess
import sys

import pytest

from tests.packaging.tree import ROOT, text

ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.process
@pytest.mark.timeout(120)
def test_the_shortest_bench_runs_and_every_figure_it_prints_is_explained() -> None:
    explained = [row.removeprefix("…, ") for row in re.findall(r"^\| (.+?) \|", text("bench/README.md"), re.MULTILINE)]

    ran = subprocess.run(
        [sys.executable, "-m", "bench", "size", "--rounds", "1"],
        cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    printed = [line.partition(": ")[0] for line in ran.stdout.splitlines()[1:]]
    assert len(printed) == 4
    assert [label for label in printed if not any(row in label for row in explained)] == []


def test_every_bench_that_can_be_named_is_loaded() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "bench", "nothing"],
        cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 2
    assert "no figure nothing; there are month, year, calls, start, size, scale, flood, load, soak" in ran.stderr
