"""Authorization codes: one record each under `code:<hash>`, redeemed once, remembered a while after that.

Source: RFC 6749 section 4.1.2, OAuth 2.1 section 4.1.3, RFC 9700 section 4.5.
"""

import secrets
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from app.authserver.issued.grants import CODES, Grants, new_grant_id
from app.authserver.issued.tokens import TokenAnswer, TokenRejected, Tokens
from app.authserver.records import AuthorizationRequest, Code, Grant, amended, from_json, to_json, token_hash
from app.store.base import Store

CODE_LIFE_S = 60.0
_REPLAY_LIFE_S = 3600.0  # how long a used code is remembered, to end its grant if it comes again; exceeds CODE_LIFE_S
_PREFIX = "vco_"


class Codes:
    """Issues and redeems codes. The grant is made at redemption: a code that is never used leaves nothing behind."""

    def __init__(
        self, store: Store, grants: Grants, tokens: Tokens, *, owners: frozenset[str], now: Callable[[], float]
    ) -> None:
        self._store = store
        self._grants = grants
        self._tokens = tokens
        self._owners = owners
        self._now = now

    async def issue(self, request: AuthorizationRequest, owner: str, *, ticked: AbstractSet[str] | None = None) -> str:
        """Make a code for a request that its owner approved.

        Args:
            request: The validated request.
            owner: Owner key of the person who proved to be the owner.
            ticked: The scopes that they gave at the source in doing so; None: it did not say.
        """
        value = _PREFIX + secrets.token_urlsafe(32)
        code = Code(
            client_id=request.client.client_id,
            client_name=request.client.name,
            redirect_uri=request.redirect_uri,
            scopes=request.scopes,
            resource=request.resource,
            code_challenge=request.code_challenge,
            owner=owner,
            grant_id=new_grant_id(),
            expires_at=self._now() + CODE_LIFE_S,
            ticked=None if ticked is None else tuple(sorted(ticked)),
        )
        await self._store.put(_key(value), to_json(code), ttl_s=CODE_LIFE_S)
        return value

    async def find(self, value: str) -> Code | None:
        """Return what a code stands for, if it can be redeemed or was redeemed recently."""
        raw = await self._store.get(_key(value))
        code = None if raw is None else from_json(Code, raw)
        return None if code is None or (not code.used and code.expires_at <= self._now()) else code

    async def redeem(self, value: str) -> TokenAnswer:
        """Exchange a code for tokens. The caller has checked client, redirect URI, PKCE and resource.

        Because of that order a wrong attempt does not spend the code, and nobody without the verifier can end a grant.

        Raises:
            TokenRejected: Unknown, expired or used. If it was used before, the grant that it made was ended; of two
                redemptions at the same moment one wins, and its grant lives.
        """
        raw = await self._store.get(_key(value))
        code = None if raw is None else from_json(Code, raw)
        if raw is None or code is None or (not code.used and code.expires_at <= self._now()):
            raise TokenRejected("The code is unknown or has expired. Start the authorization again.")
        if code.used:
            await self._grants.revoke(code.grant_id)
            raise TokenRejected("The code was used before, so the connection that it made was ended. Connect again.")
        if code.owner not in self._owners:
            raise TokenRejected("The owner has ended this connection. Connect again.")
        grant = self._grant(code)
        issued = await self._tokens.issue(grant)
        # Killed before this, the code is still good, and nobody knows the tokens that were written.
        if not await self._store.compare_and_set(_key(value), raw, amended(raw, used=True), ttl_s=_REPLAY_LIFE_S):
            await self._tokens.withdraw(issued)
            raise TokenRejected("The code was used at the same moment by another request.")
        # Last, and with it the tokens count: killed before this there is no grant, and none that nobody can use is
        # shown to the owner for a month.
        if not await self._grants.open(grant):
            await self._tokens.withdraw(issued)
            raise TokenRejected("The owner has ended this connection. Connect again.")
        return issued.answer

    def _grant(self, code: Code) -> Grant:
        return Grant(
            id=code.grant_id,
            owner=code.owner,
            client_id=code.client_id,
            client_name=code.client_name,
            redirect_uri=code.redirect_uri,
            scopes=code.scopes,
            resource=code.resource,
            created_at=self._now(),
            ticked=code.ticked,
        )


def _key(value: str) -> str:
    return CODES + token_hash(value)
