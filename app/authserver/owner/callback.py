"""`/callback/oura/`: the browser comes back from Oura, and is the owner or is not.

Everything that can be refused without asking Oura is refused first: an unknown `state`, another browser, a second
visit. From the exchange on, the tokens either end up sealed under the owner's name or are given back at Oura.
"""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass

import anyio
from starlette.requests import Request
from starlette.responses import Response

from app.authserver.clients.pinned import answered_at_once
from app.authserver.issued.codes import Codes
from app.authserver.owner import refusals
from app.authserver.owner.attempts import Attempt, Attempts, Found
from app.authserver.owner.authorize import Render
from app.authserver.owner.browser import BrowserCookie, go, remembers
from app.authserver.owner.consent import destination
from app.authserver.owner.refusals import Ending, SignInRefused
from app.authserver.owner.session import OwnerSessions
from app.authserver.protocol.authorizations import Authorizations
from app.authserver.records import AuthorizationRequest, BadAuthorization
from app.authserver.redirects import error_location, success_location
from app.errors import SealBroken, StoreUnavailable, VitalsError
from app.identity import owner_key
from app.sources.oura.account import Account
from app.sources.oura.oauth import ExchangeFailed, OuraOAuth
from app.sources.oura.scopes import normalised
from app.vault.connections import AccountMismatch, Connection, Connections
from app.vault.rotation import TokenAnswer

# Two endpoints to try, the account, the store and a revocation: each has its own deadline, this one is above their sum.
FINISH_DEADLINE_S = 90
GIVE_BACK_DEADLINE_S = 20
BACK_AFTER_S = 10  # time to read why; the link on the page does the same at once


@dataclass(frozen=True, slots=True)
class Callback:
    """The far end of a sign-in at Oura."""

    authorizations: Authorizations
    codes: Codes
    attempts: Attempts
    sessions: OwnerSessions
    browser: BrowserCookie
    oauth: OuraOAuth
    account: Callable[[str], Awaitable[Account]]
    connections: Connections
    owners: AbstractSet[str]
    render: Render
    issuer: str
    redirect_uri: str
    now: Callable[[], float]

    async def answer(self, request: Request) -> Response:
        """Answer the redirect from Oura."""
        states = request.query_params.getlist("state")
        found = await self.attempts.find(states[0]) if len(states) == 1 else None
        if found is None:
            return self._message(
                400,
                "This sign-in is not known here",
                "It was not started here, or more than ten minutes ago. Start again from your app.",
            )
        secret = self.browser.read(request)
        if secret is None or not remembers(found.attempt.browser, secret):
            return await self._elsewhere(found)
        claimed = await self.attempts.claim(found) if found.attempt.step == "pending" else None
        if claimed is None:
            return await self._again(states[0])
        # The code is single-use: once it is spent, what follows is finished even if the browser has gone.
        with anyio.move_on_after(FINISH_DEADLINE_S, shield=True):
            return await self._finish(request, claimed)
        return await self._ended(claimed.attempt, refusals.unreachable("It took too long."))

    async def _elsewhere(self, found: Found) -> Response:
        """End a sign-in whose result came to another browser: its address holds what the one that began it needs."""
        claimed = await self.attempts.claim(found) if found.attempt.step == "pending" else None
        if claimed is not None:
            await self.attempts.finish(claimed, "refused")
        return self._message(
            403,
            "This sign-in was started in another browser",
            "Only the browser in which it was approved can finish it, so it has ended and nothing was connected. If "
            "somebody sent you a link, close this page, and give nobody its address. If it was you, start again from "
            "your app and stay in one browser.",
        )

    async def _finish(self, request: Request, claimed: Found) -> Response:
        attempt = claimed.attempt
        try:
            connection = await self._connect(request, attempt)
        except SignInRefused as refused:
            with suppress(StoreUnavailable):  # the record ends by itself; the person is told all the same
                await self.attempts.finish(claimed, "refused")
            return await self._ended(attempt, refused.ending)
        await self.attempts.finish(claimed, "connected")
        if attempt.kind == "owner":
            response = go("/connections")
            await self.sessions.start(response, owner=connection.owner, browser=attempt.browser)
            return response
        try:
            asked = await self.authorizations.validate(list(attempt.params))
        except BadAuthorization as bad:
            return self._message(400, "The app can no longer be answered", str(bad))
        code = await self.codes.issue(asked, connection.owner, ticked=connection.scopes)
        return go(success_location(asked, code, self.issuer))

    async def _connect(self, request: Request, attempt: Attempt) -> Connection:
        """Exchange the code and keep what it gave if, and only if, it is an owner's.

        Raises:
            SignInRefused: It ended otherwise; the tokens, if any came, were given back.
        """
        asked_at = self.now()
        tokens = await self._exchange(request, attempt.verifier)
        settled = False
        try:
            connection = await self._accept(request, attempt, tokens, asked_at)
            settled = True
            return connection
        except SignInRefused as refused:
            settled = True
            confirmed = await self._give_back(tokens)
            raise SignInRefused(refusals.given_back(refused.ending, confirmed=confirmed)) from None
        finally:
            if not settled:  # a fault of ours, or out of time
                await self._give_back(tokens)

    async def _exchange(self, request: Request, verifier: str | None) -> TokenAnswer:
        query = request.query_params
        if (error := query.get("error")) is not None:
            said_no = error == "access_denied"
            raise SignInRefused(
                refusals.cancelled() if said_no else refusals.source_error(error, query.get("error_description"))
            )
        if not (code := query.get("code")):
            raise SignInRefused(refusals.no_code())
        try:
            endpoint = await self._remembered_endpoint()
            return await self.oauth.exchange(code, verifier=verifier, token_url=endpoint)
        except ExchangeFailed as failed:
            if failed.reason == "rejected" and "invalid_grant" in str(failed):
                raise SignInRefused(refusals.code_over()) from None
            if failed.reason == "rejected":
                raise SignInRefused(refusals.exchange_failed(str(failed), self.redirect_uri)) from None
            raise SignInRefused(refusals.unreachable(str(failed))) from None
        except VitalsError as failed:
            raise SignInRefused(refusals.unreachable(str(failed))) from None

    async def _remembered_endpoint(self) -> str | None:
        """Return the token endpoint that knew our application before; it is one application for all owners."""
        for owner in self.owners:
            try:
                connection = await self.connections.load(owner)
            except (SealBroken, StoreUnavailable):  # a hint we do without; whether the new one can be kept shows later
                continue
            if connection is not None:
                return connection.token_url
        return None

    async def _accept(self, request: Request, attempt: Attempt, tokens: TokenAnswer, asked_at: float) -> Connection:
        if tokens.refresh_token is None:
            raise SignInRefused(refusals.no_refresh_token())
        try:
            account = await self.account(tokens.access_token)
        except VitalsError as failed:
            raise SignInRefused(refusals.unreachable(str(failed))) from None
        if account.email is None:
            raise SignInRefused(refusals.no_email())
        owner = owner_key(account.email)
        if owner not in self.owners:
            raise SignInRefused(refusals.stranger())
        try:
            before = await self.connections.load(owner)
            return await self.connections.connect(
                Connection(
                    source="oura",
                    owner=owner,
                    account_id=account.id,
                    access_token=tokens.access_token,
                    refresh_token=tokens.refresh_token,
                    expires_at=asked_at + tokens.expires_in_s,
                    obtained_at=asked_at,
                    scopes=tokens.scopes if tokens.scopes is not None else _told(request),
                    token_url=tokens.token_url,
                    timezone=attempt.zone or (before.timezone if before else None),
                )
            )
        except AccountMismatch:
            raise SignInRefused(refusals.other_account()) from None
        except SealBroken as broken:
            raise SignInRefused(refusals.sealed(broken.public)) from None
        except StoreUnavailable as failed:
            passes = failed.outage in {"unreachable", "read_only"}
            raise SignInRefused(refusals.not_stored(str(failed), passes=passes)) from None

    async def _give_back(self, tokens: TokenAnswer) -> bool:
        with anyio.move_on_after(GIVE_BACK_DEADLINE_S, shield=True):  # also when the time above has run out
            return await self.oauth.revoke(access_token=tokens.access_token, refresh_token=tokens.refresh_token)
        return False

    async def _ended(self, attempt: Attempt, ending: Ending) -> Response:
        back = back_to = after_s = None
        if attempt.kind == "app":
            try:
                asked: AuthorizationRequest = await self.authorizations.validate(list(attempt.params))
                back = error_location(asked, ending.error, ending.title, self.issuer)
                back_to = destination(asked.redirect_uri).name
                after_s = BACK_AFTER_S if answered_at_once(asked.redirect_uri) else None
            except BadAuthorization:
                pass  # the client is gone meanwhile: there is nobody to tell
        return self.render(
            "ended.html",
            status=ending.status,
            ending=ending,
            back=back,
            back_to=back_to,
            after_s=after_s,
            kind=attempt.kind,
        )

    async def _again(self, state: str) -> Response:
        """Answer a callback that was visited before: whoever reloads is told, and nothing is sent to Oura."""
        found = await self.attempts.find(state)
        match found.attempt.step if found else "refused":
            case "connected":
                return self._message(
                    200,
                    "Already connected",
                    "This sign-in was finished before, and its result was passed on to the app. If the app does not "
                    "show it, start again there.",
                )
            case "refused":
                return self._message(
                    400,
                    "This sign-in has ended",
                    "It was finished before, without a connection. Start again where you began it.",
                )
            case _:
                return self._message(
                    409,
                    "This sign-in is being finished",
                    "Another tab or an earlier click is at it. If your app does not report back within a minute, start "
                    "again there.",
                )

    def _message(self, status: int, title: str, text: str) -> Response:
        return self.render("message.html", status=status, title=title, text=text)


def _told(request: Request) -> frozenset[str] | None:
    """Return the scopes the callback names; None when it names none, which is unknown and not nothing."""
    return normalised(request.query_params.get("scope"))
