"""Answers of Oura's token endpoints as pure functions: bytes in, tokens or a rejection out. `oauth` sends.

Nothing of an answer is repeated but its error code and description, bounded, printable, and freed of what was sent.

Source: RFC 6749 sections 5.1 and 5.2; Oura's two token endpoints differ in codes and statuses.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

import orjson

from app.sources.oura.scopes import normalised
from app.sources.oura.wire import printable
from app.vault.outcomes import OutcomeUnknown, TokenAnswer

DEFAULT_LIFE_S: Final = 86_400.0  # what Oura's documentation calls typical; used when `expires_in` cannot be read
SHORTEST_LIFE_S: Final = 60.0
LONGEST_LIFE_S: Final = 400 * 86_400.0
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,4096}")  # travels in a header
_SPENT: Final = re.compile(r"already (?:been )?used|revoked", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rejection:
    """An endpoint answered, and gave no tokens: whatever was sent to it was not spent there."""

    status: int
    error: str | None
    description: str | None

    @property
    def try_next(self) -> bool:
        """Whether another endpoint may know what this one does not: the two portals' apps live at different ones."""
        return self.status in (400, 401)

    @property
    def spent(self) -> bool:
        """Whether it knows this very refresh token, and that it is dead."""
        return self.try_next and _SPENT.search(self.description or "") is not None

    @property
    def final(self) -> bool:
        """Whether it refuses the grant itself, rather than the application or the form of the request."""
        return self.try_next and (self.error == "invalid_grant" or self.spent)

    def __str__(self) -> str:
        said = ": ".join(part for part in (self.error, self.description) if part)
        return f"HTTP {self.status}, {said}" if said else f"HTTP {self.status}"


def parse_tokens(status: int, body: bytes, *, token_url: str, hide: tuple[str, ...] = ()) -> TokenAnswer | Rejection:
    """Read a token endpoint's answer.

    Args:
        status: HTTP status.
        body: Of the answer.
        token_url: The endpoint that gave it, to be remembered.
        hide: What was sent and must not be repeated, should the description quote it.

    Raises:
        OutcomeUnknown: 408, 5xx, or 200 without usable tokens: what was sent may have been spent.
    """
    try:
        reply = orjson.loads(body)
    except orjson.JSONDecodeError:
        reply = None
    if status == 200:
        return _tokens(reply, token_url)
    if status == 408 or status >= 500:
        raise OutcomeUnknown(f"Oura's token endpoint failed (HTTP {status}).")
    error, description = None, None
    if isinstance(reply, dict):
        error = _hidden(reply.get("error"), hide)
        description = _hidden(reply.get("error_description", reply.get("detail")), hide)
    return Rejection(status, error, description)


def _tokens(reply: object, token_url: str) -> TokenAnswer:
    if not isinstance(reply, dict):
        raise OutcomeUnknown("Oura's token endpoint answered 200 with something that is not JSON.")
    access, refresh = reply.get("access_token"), reply.get("refresh_token")
    kind = reply.get("token_type", "bearer")
    if not isinstance(access, str) or not _TOKEN.fullmatch(access):
        raise OutcomeUnknown("Oura's token endpoint answered 200 without a usable access token.")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise OutcomeUnknown("Oura's token endpoint answered 200 with a token that is no bearer token.")
    if refresh is not None and not (isinstance(refresh, str) and (not refresh or _TOKEN.fullmatch(refresh))):
        raise OutcomeUnknown("Oura's token endpoint answered 200 with an unusable refresh token.")
    return TokenAnswer(
        access_token=access,
        refresh_token=refresh or None,
        expires_in_s=life_s(reply.get("expires_in")),
        scopes=normalised(reply.get("scope")),
        token_url=token_url,
    )


def life_s(value: object) -> float:
    """Read `expires_in`, in seconds: a number, also as text. Seen: 14 and 30 days; nonsense gives a cautious day."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return DEFAULT_LIFE_S
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return DEFAULT_LIFE_S
    if not math.isfinite(seconds) or seconds <= 0:
        return DEFAULT_LIFE_S
    return min(max(seconds, SHORTEST_LIFE_S), LONGEST_LIFE_S)


def _hidden(text: object, hide: tuple[str, ...]) -> str | None:
    if not isinstance(text, str):
        return None
    for secret in hide:
        if secret:
            text = text.replace(secret, "…")
    return printable(text) or None
