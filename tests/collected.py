"""Which tests exist, read from the files without running them."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def functions(path: str) -> frozenset[str]:
    """Names of the functions of a file, those in a class as `Class::name`; nothing if there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}::{each.name}" for each in inner}
    return frozenset(found)


def is_test(node: str) -> bool:
    """Say whether `tests/x/test_y.py::test_z` is a test that pytest would collect."""
    path, _, name = node.partition("::")
    collected = Path(path).name.startswith("test_") and name.rpartition("::")[2].startswith("test_")
    return collected and name in functions(path)
