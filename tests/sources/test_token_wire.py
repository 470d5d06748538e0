"""Answers of Oura's token endpoint, read: what cannot be used is refused, what is missing is not made up."""

import json

import pytest

from app.sources.oura.token_wire import Rejection, life_s, parse_tokens
from app.vault.outcomes import OutcomeUnknown
from tests.sources.test_oauth import GOOD, OLD

NONSENSE: tuple[object, ...] = (None, 0, -5, "soon", True, float("nan"), float("inf"), [], "1e999", 10**400)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2591999, 2591999),
        ("3600", 3600),
        (86400.5, 86400.5),
        (1, 60),
        (10**12, 400 * 86400),
        *((bad, 86400) for bad in NONSENSE),
    ],
)
def test_the_life_of_a_token_is_read_or_taken_to_be_a_day(value: object, expected: float) -> None:
    assert life_s(value) == expected


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"access_token": None}, id="no access token"),
        pytest.param({"access_token": "a\r\nX-Evil: 1"}, id="a header inside"),
        pytest.param({"access_token": "x" * 5000}, id="too long"),
        pytest.param({"refresh_token": 5}, id="a refresh token of another type"),
        pytest.param({"token_type": "mac"}, id="not a bearer token"),
    ],
)
def test_tokens_that_cannot_be_used_are_not_accepted(change: dict[str, object]) -> None:
    with pytest.raises(OutcomeUnknown):
        parse_tokens(200, json.dumps(GOOD | change).encode(), token_url=OLD)


def test_a_missing_scope_is_unknown_and_a_missing_refresh_token_is_none() -> None:
    body = {"access_token": "a", "token_type": "Bearer", "expires_in": 60}

    got = parse_tokens(200, json.dumps(body).encode(), token_url=OLD)

    assert not isinstance(got, Rejection)
    assert (got.scopes, got.refresh_token) == (None, None)
