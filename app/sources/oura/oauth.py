"""Signing in at Oura, renewing and revoking, at whichever of its endpoints knows the owner's application.

Oura has two token endpoints, for applications of its older and of its newer portal, and nothing tells which is right
but trying. Codes and refresh tokens are single-use, so a second endpoint is tried only after a definite 400 or 401,
and never after an answer that did not come.
"""

from typing import Final, Literal
from urllib.parse import urlencode, urlsplit

import anyio
import httpx2

from app.errors import VitalsError
from app.sources.oura.token_wire import Rejection, parse_tokens
from app.sources.oura.unreachable import why
from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshMisconfigured, RefreshRefused, TokenAnswer

_TIMEOUT: Final = httpx2.Timeout(15.0, connect=5.0)
_DEADLINE_S: Final = 15.0  # one request, body included; the vault ends a renewal after as long, whatever was asked
_LARGEST_BODY: Final = 64 * 1024


class ExchangeFailed(VitalsError):
    """A code was not turned into tokens; it is never sent again."""

    def __init__(self, message: str, *, reason: Literal["rejected", "unreachable", "unknown"]) -> None:
        self.reason = reason  # unknown: no answer came, the code may have been spent
        super().__init__(message)


class OuraOAuth:
    """One Oura application, as registered by the owner; the vault's `RefreshEndpoint`."""

    def __init__(
        self,
        *,
        http: httpx2.AsyncClient,
        client_id: str,
        client_secret: str,
        authorize_url: str,
        token_urls: tuple[str, ...],
        revoke_urls: tuple[str, ...],
        scopes: tuple[str, ...],
        redirect_uri: str,
    ) -> None:
        """Wire it.

        Args:
            http: Should keep no connection alive between requests: one that dies just then looks like a lost answer,
                and a token whose outcome is unknown may cost the owner a sign-in.
            client_id: Of the owner's application.
            client_secret: Sent in the body of token requests only.
            authorize_url: Where the owner's browser goes.
            token_urls: In order of trying; credentials go to these and nowhere else.
            revoke_urls: All are told.
            scopes: Requested, spelled as given: the front door at cloud.ouraring.com wants bare names.
            redirect_uri: Exactly as registered at Oura.
        """
        self._http = http
        self._client_id = client_id
        self._client_secret = client_secret
        self._authorize_url = authorize_url
        self._token_urls = token_urls
        self._revoke_urls = revoke_urls
        self.scopes = scopes
        self._redirect_uri = redirect_uri

    def authorize_url(self, state: str, *, challenge: str) -> str:
        """Return the address at Oura where the owner signs in and agrees.

        Every scope is named: without a list Oura asks for all it has. `challenge` is PKCE's, by S256, which Oura's
        metadata lists; an endpoint that knew nothing of it would have to ignore it (RFC 6749, 3.1).
        """
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._client_id,
                "redirect_uri": self._redirect_uri,
                "scope": " ".join(self.scopes),
                "state": state,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
        )
        return f"{self._authorize_url}{'&' if urlsplit(self._authorize_url).query else '?'}{query}"

    async def exchange(self, code: str, *, verifier: str | None, token_url: str | None = None) -> TokenAnswer:
        """Turn a code into tokens, asking each endpoint at most once.

        Args:
            code: From Oura's callback; single-use.
            verifier: What the challenge of `authorize_url` was made of; None if none was sent.
            token_url: The endpoint that worked for this owner before, tried first.

        Raises:
            ExchangeFailed: Every endpoint rejected it (the text is the first configured one's), or no answer came.
        """
        once = {"code": code} if verifier is None else {"code": code, "code_verifier": verifier}
        form = {"grant_type": "authorization_code", "redirect_uri": self._redirect_uri, **once}
        rejections: dict[str, Rejection] = {}
        for url in self._order(token_url):
            try:
                outcome = await self._token_request(url, form, hide=tuple(once.values()))
            except NotSent as error:
                raise ExchangeFailed(
                    f"Oura could not be reached to finish the sign-in ({error}). Start the sign-in again.",
                    reason="unreachable",
                ) from error
            except OutcomeUnknown as error:
                raise ExchangeFailed(
                    f"Oura did not finish the sign-in: {error} Start the sign-in again.", reason="unknown"
                ) from error
            if isinstance(outcome, TokenAnswer):
                return outcome
            rejections[url] = outcome
            if not outcome.try_next:
                break
        told = rejections.get(self._token_urls[0], next(iter(rejections.values())))
        raise ExchangeFailed(
            f"Oura rejected the sign-in ({told}). Check OURA_CLIENT_ID, OURA_CLIENT_SECRET and the redirect URI of the "
            "Oura application, then start the sign-in again.",
            reason="rejected",
        )

    async def refresh(self, refresh_token: str, *, token_url: str) -> TokenAnswer:
        """Spend a refresh token, at the endpoint that worked before.

        Raises:
            RefreshRefused: The token is spent or revoked; the endpoint that gave it said so, or one that knows it.
            RefreshMisconfigured: Rejected for another reason; the token is still good.
            NotSent: It certainly never arrived; it is still good.
            OutcomeUnknown: It may have been spent.
        """
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        urls = self._order(token_url)
        remembered = token_url if token_url in self._token_urls else None
        rejections: list[Rejection] = []
        for url in urls:
            outcome = await self._token_request(url, form, hide=(refresh_token,))
            if isinstance(outcome, TokenAnswer):
                return outcome
            rejections.append(outcome)
            if outcome.spent or (outcome.final and url == remembered) or not outcome.try_next:
                break
        # An endpoint that names the grant has accepted the application before it, so it is the one that counts.
        for rejection in rejections:
            if rejection.final:
                raise RefreshRefused(f"Oura refuses to renew the sign-in ({rejection}).")
        raise RefreshMisconfigured(
            f"Oura rejects the application ({rejections[0]}). Check OURA_CLIENT_ID and OURA_CLIENT_SECRET; the sign-in "
            "itself is kept."
        )

    async def revoke(self, *, access_token: str, refresh_token: str | None) -> bool:
        """End the sign-in at Oura, as well as its endpoints can.

        Returns:
            Whether at least one endpoint said it is done. Nothing is raised: whoever revokes erases the tokens anyway.
        """
        legacy = [url for url in self._revoke_urls if _is_legacy_revocation(url)]
        done = False
        for url in (url for url in self._revoke_urls if url not in legacy):
            for token, hint in ((refresh_token, "refresh_token"), (access_token, "access_token")):
                if token:
                    done |= await self._revocation(
                        url, {"token": token, "token_type_hint": hint, **self._credentials()}
                    )
        for url in legacy:
            # The older endpoint takes the token in its address only; `app.sources.oura` keeps addresses out of logs.
            done |= await self._revocation(f"{url}?{urlencode({'access_token': access_token})}", {})
        return done

    def _order(self, first: str | None) -> tuple[str, ...]:
        if first not in self._token_urls:  # an address that is configured no longer gets no secret
            return self._token_urls
        return (first, *(url for url in self._token_urls if url != first))

    def _credentials(self) -> dict[str, str]:
        return {"client_id": self._client_id, "client_secret": self._client_secret}

    async def _token_request(self, url: str, form: dict[str, str], *, hide: tuple[str, ...]) -> TokenAnswer | Rejection:
        status, body = await self._post(url, form | self._credentials())
        if status == 429:
            raise NotSent("Oura's rate limit is reached at its token endpoint (HTTP 429). Ask again in a few minutes.")
        return parse_tokens(status, body, token_url=url, hide=(*hide, self._client_secret))

    async def _revocation(self, url: str, form: dict[str, str]) -> bool:
        try:
            status, _ = await self._post(url, form)
        except (NotSent, OutcomeUnknown):
            return False
        return 200 <= status < 300

    async def _post(self, url: str, form: dict[str, str]) -> tuple[int, bytes]:
        """Post a form, once.

        Raises:
            NotSent: The connection was not made.
            OutcomeUnknown: It was, and no whole answer came.
        """
        body = bytearray()
        # Causes are cut off: they may carry the request, and with it what was sent.
        try:
            with anyio.fail_after(_DEADLINE_S):
                request = self._http.stream(
                    "POST",
                    url,
                    data=form,
                    headers={"Accept": "application/json"},
                    timeout=_TIMEOUT,
                    follow_redirects=False,
                )
                async with request as response:
                    async for chunk in response.aiter_bytes():
                        body += chunk
                        if len(body) > _LARGEST_BODY:
                            raise OutcomeUnknown("Oura's token endpoint sent an endless answer.")
                    return response.status_code, bytes(body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
            raise NotSent(f"No connection to Oura's token endpoint: {why(error)}.") from None
        except (httpx2.HTTPError, httpx2.StreamError, TimeoutError) as error:
            raise OutcomeUnknown(f"Oura's token endpoint did not answer: {why(error)}.") from None


def _is_legacy_revocation(url: str) -> bool:
    """Tell the older endpoint by its path; everything else is taken to be RFC 7009."""
    return urlsplit(url).path.rstrip("/") == "/oauth/revoke"
