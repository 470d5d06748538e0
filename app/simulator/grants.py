"""What Oura's authorization server remembers: codes, families of tokens, who gave what. No HTTP here.

Source: `oura/FACTS.md` section 1.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from app.simulator.person import Person

SCOPES = (
    "email", "personal", "daily", "heartrate", "workout", "session", "tag", "spo2", "stress", "heart_health",
    "ring_configuration",
)  # fmt: skip
PREFIX = "extapi:"
_CODE_TTL_S = 600


@dataclass(slots=True)
class Family:
    """One authorization by one person, with every token that came of it."""

    account: Person
    scopes: frozenset[str]  # bare
    number: int
    alive: bool = True
    refresh: str | None = None  # the one that is good now
    access: dict[str, float] = field(default_factory=dict)  # token -> when it expires, unix seconds
    renewals: int = 0
    ended_why: Literal["revoked", "reuse", "code reuse"] | None = None

    def end(self, why: Literal["revoked", "reuse", "code reuse"]) -> None:
        """Let every token of it die."""
        self.alive, self.refresh, self.ended_why = False, None, why
        self.access.clear()


@dataclass(slots=True)
class Code:
    """An authorization code, kept after use to notice a second one."""

    account: Person
    scopes: frozenset[str]
    redirect_uri: str
    expires_at: float
    challenge: str | None
    challenge_method: str
    family: Family | None = None  # made when it is exchanged


class Refused(Exception):
    """A grant that is not good: `invalid_grant` with this description."""


class Grants:
    """Issues, rotates, checks and ends tokens."""

    def __init__(
        self, *, now: Callable[[], float], expires_in_s: float, issue_refresh: bool, refresh_ends_access: bool
    ) -> None:
        self._now = now
        self.expires_in_s = expires_in_s
        self.issue_refresh = issue_refresh
        self.refresh_ends_access = refresh_ends_access
        self.families: list[Family] = []
        self._codes: dict[str, Code] = {}
        self._refresh: dict[str, Family] = {}  # every refresh token ever given out

    def code(
        self, account: Person, scopes: frozenset[str], redirect_uri: str, challenge: str | None, method: str
    ) -> str:
        """Issue an authorization code for ten minutes."""
        code = secrets.token_urlsafe(24)
        expires_at = self._now() + _CODE_TTL_S
        self._codes[code] = Code(account, scopes, redirect_uri, expires_at, challenge, method)
        return code

    def exchange(self, code: str, redirect_uri: str | None, verifier: str | None) -> tuple[Family, str]:
        """Spend a code; return the family and an access token.

        Raises:
            Refused: Unknown, expired, used, for another redirect URI, or the PKCE verifier does not fit.
        """
        entry = self._codes.get(code)
        if entry is None:
            raise Refused("Invalid authorization code.")
        if entry.family is not None:
            entry.family.end("code reuse")  # RFC 6749 section 4.1.2; not measured at Oura
            raise Refused("Authorization code already used.")
        if self._now() >= entry.expires_at:
            raise Refused("Authorization code expired.")
        if redirect_uri != entry.redirect_uri:
            raise Refused("redirect_uri does not match.")
        if entry.challenge is not None and entry.challenge != _challenge(verifier or "", entry.challenge_method):
            raise Refused("code_verifier does not match.")
        family = entry.family = Family(entry.account, entry.scopes, len(self.families) + 1)
        self.families.append(family)
        return family, self._issue(family)

    def renew(self, refresh_token: str) -> tuple[Family, str]:
        """Spend a refresh token; return the family and an access token. A second use ends the family.

        Raises:
            Refused: Unknown, used before, or ended.
        """
        family = self._refresh.get(refresh_token)
        if family is None:
            raise Refused("Invalid refresh token.")
        if not family.alive:
            raise Refused("Token Already Used Or Revoked")
        if family.refresh != refresh_token:
            family.end("reuse")
            raise Refused("Refresh token already used.")
        if self.refresh_ends_access:
            family.access.clear()
        family.renewals += 1
        return family, self._issue(family)

    def family_of(self, access_token: str) -> Family | None:
        """Return the family of an access token that is good now."""
        for family in self.families:
            expires_at = family.access.get(access_token)
            if expires_at is not None:
                return family if self._now() < expires_at else None
        return None

    def revoke(self, token: str) -> bool:
        """End the family of any of its tokens; False when there is none."""
        family = self._refresh.get(token) or next((one for one in self.families if token in one.access), None)
        if family is None or not family.alive:
            return False
        family.end("revoked")
        return True

    def expire_access(self) -> int:
        """Let every access token be expired from now on; return how many were not."""
        now, count = self._now(), 0
        for family in self.families:
            for token, expires_at in family.access.items():
                count += expires_at > now
                family.access[token] = min(expires_at, now)
        return count

    def _issue(self, family: Family) -> str:
        access = "_" + secrets.token_hex(22)  # opaque, 45 characters
        family.access[access] = self._now() + self.expires_in_s
        if self.issue_refresh:
            family.refresh = "_" + secrets.token_hex(22)
            self._refresh[family.refresh] = family
        return access


def bare(scope: str | None, *, prefixed_only: bool) -> frozenset[str]:
    """Return the known scopes in a request, bare. Unknown ones are dropped without a word; none given means all.

    Args:
        scope: The `scope` parameter.
        prefixed_only: At the new address itself, bare names are not understood.
    """
    if not (scope or "").strip():
        return frozenset(SCOPES)
    names = {
        name.removeprefix(PREFIX) for name in (scope or "").split() if name.startswith(PREFIX) or not prefixed_only
    }
    return frozenset(names) & frozenset(SCOPES)


def _challenge(verifier: str, method: str) -> str:
    if method != "S256":
        return verifier
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
