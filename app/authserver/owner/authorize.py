"""`/authorize`: show what an app asks for, and take the owner's yes or no.

Looking is free of effects: any number of GETs leave nothing behind but the browser's cookie. Consent is shown each time
and never remembered, so there is none that another client, redirect URI or scope could use. What an app asked for
travels through the page as one field and is validated again when it comes back.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from app.authserver.clients.pinned import answered_at_once
from app.authserver.limits.allowances import SIGN_IN
from app.authserver.limits.gate import Gate
from app.authserver.owner.areas import AREAS, asked_for
from app.authserver.owner.browser import BrowserCookie, FormTokens, from_own_page, go, is_visit, read_form
from app.authserver.owner.consent import describe, destination, parted
from app.authserver.owner.zones import ZONE_MAX_CHARS, BadZone, parse_zone
from app.authserver.protocol.authorizations import Authorizations
from app.authserver.records import AuthorizationRequest, BadAuthorization
from app.authserver.redirects import error_location
from app.errors import BadRequest

_PURPOSE = "consent"
Params = Sequence[tuple[str, str]]


class Render(Protocol):
    """Turns a template and its values into a page; `app.web.pages` does it."""

    def __call__(
        self, template: str, /, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: object
    ) -> Response:
        """Render one page."""


class Approved(Protocol):
    """What happens after a yes."""

    async def __call__(self, request: AuthorizationRequest, *, browser: str, zone: str | None) -> str:
        """Return where the browser goes next."""


class Authorize:
    """The consent page and its answer."""

    def __init__(
        self,
        *,
        authorizations: Authorizations,
        gate: Gate,
        browser: BrowserCookie,
        tokens: FormTokens,
        approved: Approved,
        render: Render,
        public_url: str,
        issuer: str,
        fixed_zone: str | None,
        scopes: tuple[str, ...] | None,
    ) -> None:
        """Wire it. `scopes` is what is asked of Oura, in its own names; None in the sandbox, where nobody signs in."""
        self._authorizations = authorizations
        self._gate = gate
        self._browser = browser
        self._tokens = tokens
        self._approved = approved
        self._render = render
        self._public_url = public_url
        self._issuer = issuer
        self._fixed_zone = fixed_zone
        self._scopes = scopes
        self._areas = AREAS if scopes is None else asked_for(frozenset(scopes))

    async def show(self, request: Request) -> Response:
        """GET: the consent page."""
        if not is_visit(request):
            # Before the app is looked at: any page could use up what its reader's address may have fetched.
            return self._refuse(
                403,
                "This page opens in a window of its own",
                "Another page tried to load it as a part of itself, or ahead of time. Start again from your app.",
            )
        params = request.query_params.multi_items()
        try:
            asked = await self._authorizations.validate(params, asker=self._gate.asker(request))
        except BadAuthorization as bad:
            return self._not_valid(bad)
        return self._consent(request, asked, params)

    async def decide(self, request: Request) -> Response:
        """POST: the owner's answer."""
        if not from_own_page(request, self._public_url):
            return self._refuse(
                403,
                "This answer did not come from our page",
                f"Another site sent it, so it was ignored. Start again from your app, and stay at {self._public_url}.",
            )
        try:
            form = await read_form(request)
        except BadRequest as bad:
            return self._refuse(400, "The form could not be read", str(bad))
        secret = self._browser.read(request)
        if secret is None:
            return self._refuse(
                403,
                "Your browser did not send our cookie back",
                "Without it nobody can tell that it was you who saw the consent page. Allow cookies for this site, "
                "then start again from your app.",
            )
        encoded = form.get("request", "")
        verdict = self._tokens.check(form.get("csrf", ""), _PURPOSE, secret, [encoded])
        if verdict == "bad":
            return self._refuse(
                403,
                "This page is too old, or from another browser",
                "So the answer was ignored, and nothing was connected. Start again from your app.",
            )
        params = parse_qsl(encoded, keep_blank_values=True)
        try:
            asked = await self._authorizations.validate(params, asker=self._gate.asker(request))
        except BadAuthorization as bad:
            return self._not_valid(bad)
        if verdict == "expired":
            notice = "More than ten minutes have passed since you opened this page. Please decide once more."
            return self._consent(request, asked, params, notice=notice, typed_zone=form.get("timezone"))
        return await self._answer(request, asked, params, form, secret)

    async def _answer(
        self, request: Request, asked: AuthorizationRequest, params: Params, form: Mapping[str, str], secret: str
    ) -> Response:
        match form.get("decision"):
            case "deny":
                return self._denied(asked)
            case "approve":
                try:
                    zone = self._fixed_zone or parse_zone(form.get("timezone", ""))
                except BadZone as bad:
                    return self._consent(request, asked, params, notice=str(bad), typed_zone=form.get("timezone"))
                await self._gate.admit(SIGN_IN, self._gate.asker(request))
                return go(await self._approved(asked, browser=secret, zone=zone))
            case _:
                notice = "Please press one of the two buttons."
                return self._consent(request, asked, params, notice=notice, typed_zone=form.get("timezone"))

    def _denied(self, asked: AuthorizationRequest) -> Response:
        """Answer a no. Whoever pressed it has not signed in: only who could be nobody else is told by itself."""
        back = error_location(asked, "access_denied", "It was not allowed.", self._issuer)
        if answered_at_once(asked.redirect_uri):
            return go(back)
        return self._render(
            "message.html",
            title="Nothing was connected",
            text="You said no, so the app gets nothing.",
            back=back,
            back_to=destination(asked.redirect_uri).name,
        )

    def _consent(
        self,
        request: Request,
        asked: AuthorizationRequest,
        params: Params,
        *,
        notice: str | None = None,
        typed_zone: str | None = None,
    ) -> Response:
        secret = self._browser.read_or_make(request)
        encoded = urlencode(list(params))
        asker = describe(asked.client, asked.redirect_uri)
        page = self._render(
            "consent.html",
            status=400 if notice else 200,
            asker=asker,
            parted=parted,
            redirect_uri=asked.redirect_uri,
            areas=self._areas,
            scopes=self._scopes,
            request=encoded,
            csrf=self._tokens.issue(_PURPOSE, secret, [encoded]),
            fixed_zone=self._fixed_zone,
            typed_zone=None if typed_zone is None else typed_zone[:ZONE_MAX_CHARS],
            notice=notice,
            sandbox=self._scopes is None,
        )
        self._browser.set(page, secret)
        return page

    def _not_valid(self, bad: BadAuthorization) -> Response:
        """Tell the app where that is safe, else the person: an unproven redirect URI is never followed.

        Nor is one that any stranger could have registered: nobody has signed in or agreed to anything yet, so an
        automatic answer would let a link to us lead to a page of theirs.
        """
        if bad.redirect_location is not None and bad.follow:
            return go(bad.redirect_location)
        title = "This app's request cannot be answered"
        if bad.redirect_location is None:
            return self._refuse(400, title, str(bad))
        return self._render(
            "message.html",
            status=400,
            title=title,
            text=f"{bad} Nobody has signed in and nothing was connected.",
            back=bad.redirect_location,
            back_to=destination(bad.redirect_location).name,
        )

    def _refuse(self, status: int, title: str, text: str) -> Response:
        return self._render("message.html", status=status, title=title, text=text)
