"""The owner's own pages: what this is and how to connect it, what is kept, and who is connected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.authserver.issued.grants import Grants
from app.authserver.owner.browser import from_own_page, go, read_form
from app.authserver.owner.consent import plain_name
from app.authserver.owner.leaving import disconnect
from app.authserver.owner.session import OwnerSession
from app.authserver.owner.zones import ZONE_MAX_CHARS, BadZone, parse_zone
from app.authserver.redirects import LOOPBACK_HOSTS
from app.authserver.signin import CALLBACK_PATH, SignIn
from app.errors import BadRequest
from app.sources.oura.oauth import OuraOAuth
from app.sources.oura.scopes import bare
from app.vault.connections import Connections
from app.web.overview import app_rows, connection_view
from app.web.pages import Pages

_SIGN_IN = "/connections/signin"
_SIGN_OUT = "/connections/signout"
_END_APP = "/connections/end"
_DISCONNECT = "/connections/disconnect"


class _NotAccepted(Exception):
    """A form that is not acted on; carries the page that says so."""

    def __init__(self, page: Response) -> None:
        self.page = page


@dataclass(frozen=True, slots=True)
class OwnerPages:
    """`/`, `/privacy` and `/connections`."""

    signin: SignIn
    grants: Grants
    connections: Connections
    oauth: OuraOAuth | None  # None: the sandbox
    pages: Pages
    public_url: str
    scopes: tuple[str, ...]  # what a sign-in asks of Oura, so that what is missing can be named

    def routes(self) -> list[BaseRoute]:
        """List every address of these pages."""
        return [
            Route("/", self.home, methods=["GET"]),
            Route("/privacy", self.privacy, methods=["GET"]),
            Route("/connections", self.overview, methods=["GET"]),
            Route(_SIGN_IN, self.sign_in, methods=["POST"]),
            Route(_SIGN_OUT, self.sign_out, methods=["POST"]),
            Route(_END_APP, self.end_app, methods=["POST"]),
            Route(_DISCONNECT, self.leave, methods=["POST"]),
        ]

    async def home(self, _request: Request) -> Response:
        """What this is, the address to paste, and how to connect each app."""
        return self.pages(
            "home.html",
            mcp_url=f"{self.public_url}/mcp",
            redirect_uri=f"{self.public_url}{CALLBACK_PATH}",
            local=urlsplit(self.public_url).hostname in LOOPBACK_HOSTS,
        )

    async def privacy(self, _request: Request) -> Response:
        """What is kept, for how long, and what never."""
        return self.pages("privacy.html")

    async def overview(self, request: Request) -> Response:
        """The owner's connection and apps, or the way to sign in."""
        return await self._overview(request)

    async def sign_in(self, request: Request) -> Response:
        """Send the owner to Oura."""
        try:
            form = await self._form(request, _SIGN_IN, self.signin.browser.read(request))
        except _NotAccepted as refused:
            return refused.page
        try:
            zone = self.signin.timezone or parse_zone(form.get("timezone", ""))
        except BadZone as bad:
            return await self._overview(request, status=400, notice=str(bad), typed_zone=form.get("timezone"))
        return await self.signin.start_for_owner(request, zone)

    async def sign_out(self, request: Request) -> Response:
        """End the session of these pages; no app and no connection is touched."""
        session = await self.signin.sessions.current(request)
        if session is None:
            return await self._too_late(request, "You were signed out already")
        try:
            await self._form(request, _SIGN_OUT, session.secret)
        except _NotAccepted as refused:
            return refused.page
        response = go("/connections")
        await self.signin.sessions.end(response, session)
        return response

    async def end_app(self, request: Request) -> Response:
        """End what one app was allowed."""
        session = await self.signin.sessions.current(request)
        if session is None:
            return await self._too_late(request, "Nothing was ended")
        try:
            form = await self._form(request, _END_APP, session.secret, ("grant",))
        except _NotAccepted as refused:
            return refused.page
        grant = await self.grants.find(form.get("grant", ""))
        ended = await self.grants.revoke(form.get("grant", ""), owner=session.owner)
        name = plain_name(grant.client_name) if ended and grant is not None else ""
        return await self._overview(
            request, notice=f"Ended: {name or 'the app'} gets nothing any more." if ended else "It had ended already."
        )

    async def leave(self, request: Request) -> Response:
        """End every app and the connection."""
        session = await self.signin.sessions.current(request)
        if session is None:
            return await self._too_late(request, "Nothing was ended")
        try:
            await self._form(request, _DISCONNECT, session.secret)
        except _NotAccepted as refused:
            return refused.page
        left = await disconnect(session.owner, grants=self.grants, connections=self.connections, oauth=self.oauth)
        response = self.pages("left.html", left=left)
        await self.signin.sessions.end(response, session)
        await self.signin.sessions.end_all(session.owner)  # those in other browsers
        return response

    async def _too_late(self, request: Request, what: str) -> Response:
        """Say that a button did nothing, since nobody is signed in; nothing of the form is looked at."""
        notice = f"{what}: you are not signed in, or your 15 minutes were over."
        if what.startswith("Nothing"):
            notice += " Sign in again and press it once more."
        return await self._overview(request, status=403, notice=notice)

    async def _form(
        self, request: Request, purpose: str, secret: str | None, covered: tuple[str, ...] = ()
    ) -> Mapping[str, str]:
        """Read a form of ours.

        Args:
            request: The POST.
            purpose: Which form it must be.
            secret: The cookie it must be tied to.
            covered: Fields whose values the token covers.

        Raises:
            _NotAccepted: It did not come from our page, or not from this browser, or it is too old.
        """
        if not from_own_page(request, self.public_url):
            raise _NotAccepted(
                self._refuse("Another site sent this, so it was ignored. Open the page here and try again.")
            )
        try:
            form = await read_form(request)
        except BadRequest as bad:
            raise _NotAccepted(self._refuse(str(bad), status=400)) from None
        values = [form.get(name, "") for name in covered]
        verdict = "bad" if secret is None else self.signin.tokens.check(form.get("csrf", ""), purpose, secret, values)
        if verdict == "bad":
            raise _NotAccepted(self._refuse("This page is too old, or from another browser."))
        if verdict == "expired":
            notice = "The page was more than ten minutes old, so nothing was done. Please do it once more."
            typed = form.get("timezone")
            raise _NotAccepted(await self._overview(request, status=400, notice=notice, typed_zone=typed))
        return form

    async def _overview(
        self, request: Request, *, status: int = 200, notice: str | None = None, typed_zone: str | None = None
    ) -> Response:
        session = await self.signin.sessions.current(request)
        secret = self.signin.browser.read_or_make(request)
        common: dict[str, Any] = {
            "notice": notice,
            "signin_csrf": self.signin.tokens.issue(_SIGN_IN, secret),
            "fixed_zone": self.signin.timezone,
            "typed_zone": None if typed_zone is None else typed_zone[:ZONE_MAX_CHARS],
        }
        if session is None:
            page = self.pages("signin.html", status=status, **common)
        else:
            page = self.pages("connections.html", status=status, **common, **await self._facts(session))
        self.signin.browser.set(page, secret)
        return page

    async def _facts(self, session: OwnerSession) -> dict[str, Any]:
        issue = self.signin.tokens.issue
        connection = await self.connections.load(session.owner)
        zone = self.signin.timezone or (connection.timezone if connection else None)
        grants = await self.grants.list(session.owner)
        return {
            "connection": connection_view(connection, [bare(scope) for scope in self.scopes], zone),
            "apps": [
                (row, issue(_END_APP, session.secret, [grant.id]))
                for row, grant in zip(app_rows(grants, zone), grants, strict=True)
            ],
            "zone": zone,
            "signout_csrf": issue(_SIGN_OUT, session.secret),
            "disconnect_csrf": issue(_DISCONNECT, session.secret),
        }

    def _refuse(self, text: str, *, status: int = 403) -> Response:
        return self.pages("message.html", status=status, title="Nothing was done", text=text, onward=True)
