"""What is in the checkout: its root, and the files that git tracks."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
