"""The sign-in half of the authorization server, put together: consent, then Oura, then the app's code."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.authserver.limits.allowances import SIGN_IN
from app.authserver.owner.attempts import Attempts
from app.authserver.owner.authorize import Authorize, Render
from app.authserver.owner.browser import BrowserCookie, FormTokens, fingerprint, go
from app.authserver.owner.callback import Callback
from app.authserver.owner.session import OwnerSessions
from app.authserver.records import AuthorizationRequest
from app.authserver.redirects import success_location
from app.authserver.server import AuthServer
from app.identity import SANDBOX_OWNER
from app.sources.oura.account import Account
from app.sources.oura.oauth import OuraOAuth
from app.sources.oura.scopes import bare
from app.store.base import Store
from app.store.crypto import Keys
from app.vault.connections import Connections

CALLBACK_PATH = "/callback/oura/"


class SignIn:
    """What a browser meets: `/authorize` and the way back from Oura.

    Args:
        authserver: The protocol half.
        oauth: Our side of Oura's sign-in; None for the sandbox, where nobody signs in and everybody is its owner.
        account: Asks Oura whose an access token is.
        connections: Where the owner's credential is kept.
        store: For sign-ins under way and sessions.
        keys: Seals those, and signs forms.
        owners: Who may sign in: owner key to email address.
        public_url: Our own origin, without a trailing slash; the issuer too.
        render: Makes pages.
        now: Unix seconds.
        timezone: The zone the settings prescribe; None: what the browser says.
    """

    def __init__(
        self,
        *,
        authserver: AuthServer,
        oauth: OuraOAuth | None,
        account: Callable[[str], Awaitable[Account]],
        connections: Connections,
        store: Store,
        keys: Keys,
        owners: Mapping[str, str],
        public_url: str,
        render: Render,
        now: Callable[[], float],
        timezone: str | None = None,
    ) -> None:
        self.owners = frozenset({SANDBOX_OWNER}) if oauth is None else frozenset(owners)
        self.browser = BrowserCookie("vitals-browser", public_url=public_url)
        self.tokens = FormTokens(keys, now=now)
        self.sessions = OwnerSessions(
            store, keys, browser=self.browser, owners=self.owners, public_url=public_url, now=now
        )
        self.timezone = timezone
        self._codes = authserver.codes
        self._gate = authserver.gate
        self._oauth = oauth
        self._issuer = public_url
        self._attempts = Attempts(store, keys, now=now)
        self._authorize = Authorize(
            authorizations=authserver.authorizations,
            gate=authserver.gate,
            browser=self.browser,
            tokens=self.tokens,
            approved=self._approved,
            render=render,
            public_url=public_url,
            issuer=public_url,
            fixed_zone=timezone,
            scopes=None if oauth is None else tuple(bare(scope) for scope in oauth.scopes),
        )
        self._callback = None
        if oauth is not None:
            self._callback = Callback(
                authorizations=authserver.authorizations,
                codes=authserver.codes,
                attempts=self._attempts,
                sessions=self.sessions,
                browser=self.browser,
                oauth=oauth,
                account=account,
                connections=connections,
                owners=self.owners,
                render=render,
                issuer=public_url,
                redirect_uri=public_url + CALLBACK_PATH,
                now=now,
            )

    def routes(self) -> list[BaseRoute]:
        """Everything a browser meets on the way from an app to Oura and back."""
        routes: list[BaseRoute] = [
            Route("/authorize", self._authorize.show, methods=["GET"]),
            Route("/authorize", self._authorize.decide, methods=["POST"]),
        ]
        if self._callback is not None:
            for path in (CALLBACK_PATH, CALLBACK_PATH[:-1]):
                route = Route(path, self._callback.answer, methods=["GET"])
                (route.methods or set()).discard("HEAD")  # a HEAD must change nothing, and this would spend the code
                routes.append(route)
        return routes

    async def start_for_owner(self, request: Request, zone: str | None) -> Response:
        """Send an owner to Oura on behalf of their own pages; in the sandbox they are signed in at once.

        Raises:
            TooManyRequests: Too many sign-ins were begun.
        """
        await self._gate.admit(SIGN_IN, self._gate.asker(request))
        secret = self.browser.read_or_make(request)
        if self._oauth is None:
            response = go("/connections")
            await self.sessions.start(response, owner=SANDBOX_OWNER, browser=fingerprint(secret))
        else:
            begun = await self._attempts.begin("owner", browser=fingerprint(secret), zone=zone)
            response = go(self._oauth.authorize_url(begun.state, challenge=begun.challenge))
        self.browser.set(response, secret)
        return response

    async def _approved(self, request: AuthorizationRequest, *, browser: str, zone: str | None) -> str:
        if self._oauth is None:
            code = await self._codes.issue(request, SANDBOX_OWNER)
            return success_location(request, code, self._issuer)
        begun = await self._attempts.begin("app", browser=fingerprint(browser), zone=zone, params=request.parameters())
        return self._oauth.authorize_url(begun.state, challenge=begun.challenge)
