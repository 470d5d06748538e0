"""The tokens that apps hold: issuing, rotating, looking up, revoking one.

A token is 256 random bits behind a readable prefix; the store knows only its hash. An access token names its grant
before them, which opens nothing, so that both are read from the store in one go. Refresh tokens are used once: the
first use makes a successor, and for `GRACE_S` the same token gets the same answer again, because hosts refresh in
parallel from two addresses. Any use after that, or after the successor was used, is taken for theft and ends the grant.

Order of a rotation: successor written → grant prolonged → one compare-and-set on the old token makes it all count.
Killed before it, nothing happened; killed after it, the old token still gets the answer.

Source: RFC 6749 section 6, RFC 9700 section 4.14.2.
"""

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from app.authserver.issued.grants import REFRESH_LIFE_S, Grants, grant_key
from app.authserver.records import AccessToken, Grant, RefreshToken, amended, from_json, to_json, token_hash
from app.errors import CallerError, SealBroken
from app.store.base import Store
from app.store.crypto import Sealer, sealer_from_token

ACCESS_LIFE_S = 3600
GRACE_S = 120.0  # counted from the rotation; must exceed a host's retry of a lost answer (claude.ai waits 30 s)
_ANSWER_LIFE_S = (
    GRACE_S + 60
)  # must exceed GRACE_S: the clock decides when the window ends, not the store's own lifetime

_ACCESS, _REFRESH = "vat_", "vrt_"
_NAMES_ITS_GRANT = re.compile(_ACCESS + r"(g[0-9a-f]{24})\.[A-Za-z0-9_-]+")  # as `grants.new_grant_id` makes them


class TokenRejected(CallerError):
    """A refresh token or code that is no good: unknown, expired, used, or its grant has ended."""


class TokenAnswer(dict[str, object]):
    """The JSON of a successful token response. Its repr shows nothing, so that no log line can show it either."""

    def __repr__(self) -> str:
        return "<token answer>"


@dataclass(frozen=True, slots=True)
class Issued:
    """New tokens, written but not yet promised to anyone."""

    answer: TokenAnswer
    access_key: str
    refresh_key: str


class Tokens:
    """Issues and rotates. `owners` are those who may use the connector now; a former owner's tokens are refused."""

    def __init__(self, store: Store, grants: Grants, *, owners: frozenset[str], now: Callable[[], float]) -> None:
        self._store = store
        self._grants = grants
        self._owners = owners
        self._now = now

    async def issue(self, grant: Grant, scopes: tuple[str, ...] | None = None) -> Issued:
        """Write a new access token (for `scopes`, else all of the grant) and a new refresh token."""
        now = self._now()
        granted = grant.scopes if scopes is None else scopes
        access = f"{_ACCESS}{grant.id}.{secrets.token_urlsafe(32)}"
        refresh = _REFRESH + secrets.token_urlsafe(32)
        issued = Issued(
            TokenAnswer(
                access_token=access,
                token_type="Bearer",  # noqa: S106 - the type's name, RFC 6750
                expires_in=ACCESS_LIFE_S,
                refresh_token=refresh,
                scope=" ".join(granted),
            ),
            _access_key(access),
            _refresh_key(refresh),
        )
        access_record = AccessToken(grant.id, grant.client_id, granted, grant.resource, now + ACCESS_LIFE_S)
        await self._store.put(issued.access_key, to_json(access_record), ttl_s=ACCESS_LIFE_S)
        refresh_record = RefreshToken(grant.id, grant.client_id, now + REFRESH_LIFE_S)
        await self._store.put(issued.refresh_key, to_json(refresh_record), ttl_s=REFRESH_LIFE_S)
        return issued

    async def withdraw(self, issued: Issued) -> None:
        """Delete tokens that were written and never handed out."""
        for key in (issued.access_key, issued.refresh_key, _answer_key(issued.refresh_key)):
            await self._store.delete(key)

    async def find_access(self, token: str) -> AccessToken | None:
        """Return what is known about an access token; it may have expired, and its grant may have ended."""
        raw = await self._store.get(_access_key(token))
        return None if raw is None else from_json(AccessToken, raw)

    async def find_refresh(self, token: str) -> RefreshToken | None:
        """Return what is known about a refresh token, used or not."""
        raw = await self._store.get(_refresh_key(token))
        return None if raw is None else from_json(RefreshToken, raw)

    async def find_access_and_grant(self, token: str) -> tuple[AccessToken | None, Grant | None]:
        """Return an access token as `find_access` does, and the live grant it stands on."""
        named = _NAMES_ITS_GRANT.fullmatch(token)
        if named is None:  # issued by an earlier version, or nothing of ours
            record = await self.find_access(token)
            return record, None if record is None else await self._grants.find(record.grant_id)
        raw, raw_grant = await self._store.get_many(_access_key(token), grant_key(named[1]))
        record = None if raw is None else from_json(AccessToken, raw)
        if record is None or record.grant_id != named[1]:
            return None, None
        return record, self._grants.read(raw_grant)

    async def revoke_access(self, token: str) -> None:
        """End one access token and nothing else."""
        await self._store.delete(_access_key(token))

    async def rotate(self, token: str, scopes: tuple[str, ...] | None = None) -> TokenAnswer:
        """Use a refresh token: new tokens, or within the window the answer it got before.

        Args:
            token: The refresh token, already known to belong to the client that presents it.
            scopes: Scopes for the new access token, already known to be within the grant; None for all of them.

        Raises:
            TokenRejected: It is no good. If it had been used before, its grant was ended.
        """
        key = _refresh_key(token)
        raw = await self._store.get(key)
        record = None if raw is None else from_json(RefreshToken, raw)
        if record is None or record.expires_at <= self._now():
            raise TokenRejected("The refresh token is unknown or has expired. Connect again.")
        grant = await self._grants.find(record.grant_id)
        if grant is None or grant.owner not in self._owners:
            raise TokenRejected("The owner has ended this connection. Connect again.")
        if record.successor is not None:
            return await self._again(token, record)

        issued = await self.issue(grant, scopes)
        name = _answer_key(issued.refresh_key)
        sealed = _sealer(token).seal(json.dumps(issued.answer).encode(), bound_to=name)
        await self._store.put(name, sealed, ttl_s=_ANSWER_LIFE_S)
        if not await self._grants.mark_refreshed(grant.id):
            await self.withdraw(issued)
            raise TokenRejected("The owner has ended this connection. Connect again.")
        now = self._now()
        rotated = amended(cast("bytes", raw), rotated_at=now, successor=issued.refresh_key)
        # Kept until it would have expired: as long as that, its reappearance means that someone copied it.
        if await self._store.compare_and_set(key, raw, rotated, ttl_s=max(1.0, record.expires_at - now)):
            return issued.answer
        await self.withdraw(issued)  # another request rotated it first; what that one made is the answer
        record = await self.find_refresh(token)
        if record is None or record.successor is None:
            raise TokenRejected("The refresh token is unknown or has expired. Connect again.")
        return await self._again(token, record)

    async def _again(self, token: str, record: RefreshToken) -> TokenAnswer:
        """Repeat the answer while the window is open; end the grant if it is not."""
        successor = await self._store.get(cast("str", record.successor))
        spent = successor is None or from_json(RefreshToken, successor).successor is not None
        if spent or self._now() - cast("float", record.rotated_at) > GRACE_S:
            await self._grants.revoke(record.grant_id)
            raise TokenRejected("The refresh token was used before, so this connection was ended. Connect again.")
        name = _answer_key(cast("str", record.successor))
        sealed = await self._store.get(name)
        try:
            plain = None if sealed is None else _sealer(token).open(sealed, bound_to=name)
        except SealBroken:
            plain = None
        if plain is None:
            raise TokenRejected("The refresh token was used before, and its answer is no longer kept. Connect again.")
        answer = TokenAnswer(json.loads(plain))
        await self._prolong(_access_key(cast("str", answer["access_token"])))
        return answer

    async def _prolong(self, access_key: str) -> None:
        """Let a repeated answer keep its word: its `expires_in` counts from now (RFC 6749 section 5.1)."""
        raw = await self._store.get(access_key)
        if raw is not None:  # else it was revoked meanwhile, and must stay so
            later = amended(raw, expires_at=self._now() + ACCESS_LIFE_S)
            await self._store.compare_and_set(access_key, raw, later, ttl_s=ACCESS_LIFE_S)


def _sealer(token: str) -> Sealer:
    return sealer_from_token(token, "refresh answer")


def _access_key(token: str) -> str:
    return f"access:{token_hash(token)}"


def _refresh_key(token: str) -> str:
    return f"refresh:{token_hash(token)}"


def _answer_key(refresh_key: str) -> str:
    return f"answer:{refresh_key.removeprefix('refresh:')}"
