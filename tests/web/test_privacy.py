"""What the privacy page says of times is what the code does: whoever changes a lifetime finds the line to change."""

import re
from pathlib import Path

import pytest

from app.authserver.clients import cimd, known
from app.authserver.issued import codes, grants, tokens
from app.authserver.limits import allowances
from app.authserver.owner import attempts, session
from app.web.pages import Pages
from tests.signin.stage import PUBLIC_URL

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600


def row(name: str, *, sandbox: bool = False) -> str:
    """Return what the page says under a name."""
    page = bytes(Pages(public_url=PUBLIC_URL, sandbox=sandbox)("privacy.html").body).decode()
    said = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    return str(said.get(name, ""))


@pytest.mark.parametrize(
    ("name", "words", "told_s", "real_s"),
    [
        ("Each app you allowed", "about 30 days after it last refreshed", 30 * DAY, grants.REFRESH_LIFE_S),
        ("Each app you allowed", "30 days at most", 30 * DAY, grants.REFRESH_LIFE_S),
        ("Each app you allowed", "three minutes", 3 * MINUTE, tokens._ANSWER_LIFE_S),
        ("Apps that asked", "one day if nobody allowed it", DAY, known.UNUSED_LIFE_S),
        ("Apps that asked", "one day if nobody allowed it", DAY, cimd._UNUSED_LIFE_S),
        ("Apps that asked", "until 90 days after", 90 * DAY, known.USED_LIFE_S),
        ("Apps that asked", "until 90 days after", 90 * DAY, cimd._USED_LIFE_S),
        ("A sign-in under way", "ten minutes", 10 * MINUTE, attempts.ATTEMPT_LIFE_S),
        ("A sign-in under way", "That it is over, in which browser: one hour", HOUR, attempts.TOMBSTONE_LIFE_S),
        ("A sign-in under way", "one minute, or an hour once used", MINUTE, codes.CODE_LIFE_S),
        ("A sign-in under way", "one minute, or an hour once used", HOUR, codes._REPLAY_LIFE_S),
        ("Your visit here", "15 minutes", 15 * MINUTE, session.SESSION_LIFE_S),
        ("Who asks too often", "ten minutes", 10 * MINUTE, allowances.WINDOW_S),
    ],
)
def test_a_time_on_the_page_is_the_time_in_the_code(name: str, words: str, told_s: float, real_s: float) -> None:
    assert words in row(name)
    assert told_s == real_s


def test_every_kind_of_record_has_a_line() -> None:
    """A record that is new in `STORAGE.md` has to be placed on the page too."""
    placed = {
        "conn": "Your sign-in at Oura", "pin": "Your sign-in at Oura", "intent": "Your sign-in at Oura",
        "grant": "Each app you allowed", "access": "Each app you allowed", "refresh": "Each app you allowed",
        "answer": "Each app you allowed", "client": "Apps that asked", "cimd": "Apps that asked",
        "signin": "A sign-in under way", "code": "A sign-in under way", "owner": "Your visit here",
        "rate": "Who asks too often",
    }  # fmt: skip
    table = (Path(__file__).parents[2] / "deploy" / "STORAGE.md").read_text().partition("## Records")[2]

    kinds = set(re.findall(r"^\| `([a-z]+):", table.partition("## Leases")[0], re.MULTILINE))

    assert kinds == set(placed)
    assert all(row(name) for name in placed.values())


def test_the_sandbox_claims_no_sign_in_at_oura() -> None:
    assert row("Your sign-in at Oura", sandbox=True) == ""
