"""What may not be committed: addresses of one machine or of an index, secrets, work products."""

import re

from tests.packaging.tree import ROOT, tracked

# Put together here, so that this file is not its own finding.
ONE_MACHINE = re.compile(
    "|".join(
        (
            "/" + "work/",
            "/" + "root/",
            "/" + "tmp/(?:venv|build)",
            r"\." + "pyenv",
            r"file" + "://" + "/(?:opt/(?!vitals)|tmp|home|var)",
        )
    )
)
INDEX = re.compile(
    "|".join(
        (
            r"py" + r"pi\.org",
            r"python" + r"hosted\.org",
            r"registry\." + r"npm",
            "--" + "index-url",
            "--" + "find-links",
        )
    )
)
SECRET = re.compile(
    "|".join(("-----" + "BEGIN [A-Z ]*PRIVATE KEY", r"AKIA" + r"[0-9A-Z]{16}", r"gh[pousr]_" + r"[A-Za-z0-9]{36}"))
)


def findings(pattern: re.Pattern[str], *except_for: str) -> list[str]:
    found = []
    for name in tracked():
        if name in except_for:
            continue
        lines = (ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines()
        found += [f"{name}:{number}: {hit[0]}" for number, line in enumerate(lines, 1) if (hit := pattern.search(line))]
    return found


def test_no_file_names_a_place_on_one_machine() -> None:
    assert findings(ONE_MACHINE) == []


def test_no_file_names_a_package_index() -> None:
    assert findings(INDEX) == []


def test_no_file_holds_a_private_key_or_a_service_token() -> None:
    assert findings(SECRET) == []


def test_no_work_product_is_tracked() -> None:
    products = re.compile(
        r"(^|/)(\.venv|venv|build|dist|data|__pycache__|[^/]+\.egg-info|\.mypy_cache|\.ruff_cache)(/|$)"
    )

    assert [name for name in tracked() if products.search(name)] == []
    assert [name for name in tracked() if name.endswith((".db", ".sqlite", ".env", ".pem", ".key"))] == []
