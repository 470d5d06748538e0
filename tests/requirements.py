"""What this connector has to meet, one line for each demand, with the test that shows it, or the gap and its reason.

Demands are those of MCP's authorization specification (2025-11-25 and 2026-07-28) and of the OAuth documents that it
stands on, as far as they concern a server; the holes published about other connectors; and a list of what connectors
were seen to get wrong. The tables lie in `tests/requirement_tables`; `tests/test_requirements.py` holds them against
the tests that exist. To read them as text: `python -m tests.requirements`.
"""

from typing import Final

from tests.requirement_tables import (
    advisories,
    checklist,
    checklist_tokens,
    mcp,
    mcp_practice,
    rfc6749,
    rfc6749_tokens,
    rfc9700,
    small,
)
from tests.requirement_tables.line import Line

SPECIFICATIONS: Final[tuple[Line, ...]] = (
    *mcp.LINES,
    *mcp_practice.LINES,
    *rfc6749.LINES,
    *rfc6749_tokens.LINES,
    *small.LINES,
    *rfc9700.LINES,
)
ADVISORIES: Final[tuple[Line, ...]] = advisories.LINES
CHECKLIST: Final[tuple[Line, ...]] = (*checklist.LINES, *checklist_tokens.LINES)
REQUIREMENTS: Final[tuple[Line, ...]] = (*SPECIFICATIONS, *ADVISORIES, *CHECKLIST)


def as_text(line: Line) -> str:
    """One demand in one line."""
    shown = ", ".join(line.tests) or "-"
    why = f" GAP: {line.gap}" if line.gap else f" NOT OURS: {line.not_ours}" if line.not_ours else ""
    return f"{line.id} | {line.source} | {line.says} | {shown}{why}"


if __name__ == "__main__":
    for each in REQUIREMENTS:
        print(as_text(each))
