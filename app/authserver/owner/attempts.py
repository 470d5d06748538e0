"""Sign-ins at the source that are under way: one sealed record for each, found by the hash of its `state`.

A record comes into being only after the owner approved something, lives ten minutes, and goes
pending → working → connected or refused, each step by compare-and-set, so that however often the browser
repeats the callback, one of them acts. What is left after that is a tombstone that only says how it ended.

The source is sent the hash of a verifier that the record keeps (PKCE). Where it compares them, as its metadata says it
can, a code that was given to another sign-in is no good in this one: who slips their own code into the owner's browser,
or the owner's into theirs, gets nothing.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from app.authserver.owner.browser import fingerprint
from app.errors import SealBroken
from app.store.base import Store
from app.store.crypto import Keys

ATTEMPT_LIFE_S = 600
TOMBSTONE_LIFE_S = 3600  # a tab that the browser restores later is still told how it ended

Kind = Literal["app", "owner"]
Step = Literal["pending", "working", "connected", "refused"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sign-in: for an app that asked, or for the owner's own pages."""

    kind: Kind
    params: tuple[tuple[str, str], ...]  # the app's authorization request, bounded; empty for kind "owner"
    browser: str  # fingerprint of the cookie of the browser that approved
    zone: str | None  # IANA name
    created_at: float  # unix s
    step: Step = "pending"
    verifier: str | None = None  # PKCE; None in a record that a release before PKCE wrote


@dataclass(frozen=True, slots=True)
class Begun:
    """What the source is told of a sign-in."""

    state: str  # brings it back
    challenge: str  # PKCE, S256


@dataclass(frozen=True, slots=True)
class Found:
    """An attempt as it stood in the store when it was read."""

    key: str
    raw: bytes  # what compare-and-set compares with
    attempt: Attempt


class Attempts:
    """Begins, finds and ends sign-ins."""

    def __init__(self, store: Store, keys: Keys, *, now: Callable[[], float]) -> None:
        self._store = store
        self._sealer = keys.sealer("signin")
        self._now = now

    async def begin(
        self, kind: Kind, *, browser: str, zone: str | None, params: Sequence[tuple[str, str]] = ()
    ) -> Begun:
        """Remember an approved sign-in."""
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        attempt = Attempt(kind, tuple(params), browser, zone, self._now(), verifier=verifier)
        key = _key(state)
        await self._store.put(key, self._seal(key, attempt), ttl_s=ATTEMPT_LIFE_S)
        return Begun(state, _challenge(verifier))

    async def find(self, state: str) -> Found | None:
        """Return the attempt, at whatever step it is; None when we never began it or its time is over."""
        key = _key(state)
        raw = await self._store.get(key)
        if raw is None:
            return None
        try:
            return Found(key, raw, self._open(key, raw))
        except SealBroken:  # begun under a SECRET_KEY that is gone: as good as never begun
            return None

    async def claim(self, found: Found) -> Found | None:
        """Take a pending attempt for working on; None if another request was faster."""
        attempt = replace(found.attempt, step="working")
        raw = self._seal(found.key, attempt)
        if await self._store.compare_and_set(found.key, found.raw, raw, ttl_s=ATTEMPT_LIFE_S):
            return Found(found.key, raw, attempt)
        return None

    async def finish(self, claimed: Found, step: Literal["connected", "refused"]) -> None:
        """Leave a tombstone that says how it ended and holds nothing of the app's request."""
        attempt = replace(claimed.attempt, step=step, params=(), zone=None, verifier=None)
        await self._store.put(claimed.key, self._seal(claimed.key, attempt), ttl_s=TOMBSTONE_LIFE_S)

    def _seal(self, key: str, attempt: Attempt) -> bytes:
        return self._sealer.seal(orjson.dumps(attempt), bound_to=key)

    def _open(self, key: str, raw: bytes) -> Attempt:
        record = orjson.loads(self._sealer.open(raw, bound_to=key))
        known = {name: record[name] for name in Attempt.__dataclass_fields__ if name in record}
        return Attempt(**{**known, "params": tuple((name, value) for name, value in record["params"])})


def _challenge(verifier: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _key(state: str) -> str:
    return f"signin:{fingerprint(state)}"
