"""Oura's OAuth endpoints: the page that asks the person, both token endpoints, both revocation endpoints.

Source: `oura/FACTS.md` section 1. What was not measured is chosen to be strict and says so.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal
from urllib.parse import unquote_plus, urlencode, urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from app.simulator.grants import PREFIX, SCOPES, Family, Grants, Refused, bare
from app.simulator.person import Person
from app.simulator.watch import Watch

ISS = "https://moi.ouraring.com/oauth/v2/ext/oauth-anonymous"
FRONT_DOOR, NEW_AUTHORIZE = "/oauth/authorize", "/oauth/v2/ext/oauth-authorize"
LEGACY_TOKEN, NEW_TOKEN = "/oauth/token", "/oauth/v2/ext/oauth-token"
LEGACY_REVOKE, NEW_REVOKE = "/oauth/revoke", "/oauth/v2/ext/oauth-revoke"
Decision = Literal["owner", "stranger", "refuse"]
_NO_STORE = {"cache-control": "no-store"}
_KEPT_PARAMETERS = (
    "response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method",
)  # fmt: skip


@dataclass(slots=True)
class App:
    """The registered application, and what may differ between applications.

    Attributes:
        redirect_uris: The exact allow-list; None takes any.
        registered_at: `developer`: the legacy token endpoint answers 400 `invalid_request` to a refresh and 401 to
            an exchange. `cloud`: the new endpoint does not know it. `either`: both work.
        scopes: Scopes ticked in the portal; others are dropped.
        scope_in_token: Whether the answer to an exchange says what was granted.
        scope_in_refresh: Whether the answer to a refresh does.
        scope_in_callback: Whether the redirect back does.
        auto: Decide without showing the page.
        remembers_consent: Like Oura, skip the page while an earlier grant is alive, and give its scopes again.
    """

    client_id: str = "demo-client"
    client_secret: str = "demo-secret-not-a-real-one"  # noqa: S105 - of a simulated application
    redirect_uris: tuple[str, ...] | None = None
    registered_at: Literal["either", "developer", "cloud"] = "either"
    scopes: frozenset[str] = frozenset(SCOPES)
    scope_in_token: bool = True
    scope_in_refresh: bool = True
    scope_in_callback: bool = True
    auto: Decision | None = None
    remembers_consent: bool = False


class OAuth:
    """The routes, for one application and two people."""

    def __init__(self, *, app: App, owner: Person, stranger: Person, grants: Grants, watch: Watch) -> None:
        self.app = app
        self._people: dict[str, Person] = {"owner": owner, "stranger": stranger}
        self._grants = grants
        self._watch = watch

    def routes(self) -> list[Route]:
        """Return the routes of both address pairs."""
        return [
            Route(FRONT_DOOR, self._authorize, methods=["GET", "POST"]),
            Route(NEW_AUTHORIZE, self._authorize, methods=["GET", "POST"]),
            Route(LEGACY_TOKEN, self._token, methods=["POST"]),
            Route(NEW_TOKEN, self._token, methods=["POST"]),
            Route(LEGACY_REVOKE, self._revoke_legacy, methods=["POST"]),
            Route(NEW_REVOKE, self._revoke, methods=["POST"]),
        ]

    async def _authorize(self, request: Request) -> Response:
        asked: Mapping[str, str] = request.query_params
        form = await request.form() if request.method == "POST" else FormData()
        if form:
            asked = {name: str(form.get(name, "")) for name in _KEPT_PARAMETERS if form.get(name)}
        redirect_uri = asked.get("redirect_uri") or (self.app.redirect_uris or ("",))[0]
        if asked.get("client_id") != self.app.client_id:
            return _page("This application is not known here", "<p>Check the client_id.</p>", 400)
        if not _acceptable(redirect_uri, self.app.redirect_uris):
            return _page("The redirect_uri is not registered for this application", "", 400)
        if asked.get("response_type") != "code":
            return _back(redirect_uri, asked, {"error": "unsupported_response_type"})
        offered = bare(asked.get("scope"), prefixed_only=request.url.path == NEW_AUTHORIZE) & self.app.scopes
        decision = str(form.get("decision") or asked.get("sim_auto") or self.app.auto or "")
        if not decision and self.app.remembers_consent:
            for family in self._grants.families:
                if family.alive:
                    return self._approve(redirect_uri, asked, family.account, family.scopes)
        if decision in self._people:
            ticked = frozenset(name for name in SCOPES if form.get(f"may_{name}")) if form.get("shown") else offered
            return self._approve(redirect_uri, asked, self._people[decision], offered & ticked)
        if decision == "refuse":
            refused = {"error": "access_denied", "error_description": "The user denied the request."}
            return _back(redirect_uri, asked, refused)
        return _ask(request.url.path, asked, offered)

    def _approve(self, redirect_uri: str, asked: Mapping[str, str], who: Person, scopes: frozenset[str]) -> Response:
        method = asked.get("code_challenge_method", "plain")
        code = self._grants.code(who, scopes, redirect_uri, asked.get("code_challenge"), method)
        self._watch.counts.authorizations += 1
        answer = {"code": code, "iss": ISS}
        if self.app.scope_in_callback:
            answer["scope"] = " ".join(name for name in SCOPES if name in scopes)
        return _back(redirect_uri, asked, answer)

    async def _token(self, request: Request) -> Response:
        legacy = request.url.path == LEGACY_TOKEN
        form = {name: str(value) for name, value in (await request.form()).items()}
        grant_type = form.get("grant_type")
        if grant_type == "refresh_token":
            self._watch.counts.refreshes += 1
        elif grant_type == "authorization_code":
            self._watch.counts.exchanges += 1
        known, problem = self._client(request, form, legacy=legacy)
        if not known:
            return problem
        if legacy and self.app.registered_at == "developer":
            if grant_type == "authorization_code":
                return _error(401, "invalid_client", "Client authentication failed.")
            return _error(400, "invalid_request", "Invalid request.")
        return self._answer(grant_type, form)

    def _answer(self, grant_type: str | None, form: Mapping[str, str]) -> Response:
        counts = self._watch.counts
        try:
            if grant_type == "authorization_code":
                if not form.get("code"):
                    return _error(400, "invalid_request", "Missing parameter: code.")
                family, access = self._grants.exchange(
                    form["code"], form.get("redirect_uri"), form.get("code_verifier")
                )
                says_scope = self.app.scope_in_token
            elif grant_type == "refresh_token":
                if not form.get("refresh_token"):
                    return _error(400, "invalid_request", "Missing parameter: refresh_token.")
                family, access = self._grants.renew(form["refresh_token"])
                says_scope = self.app.scope_in_refresh
                counts.refreshed += 1
            else:
                return _error(400, "unsupported_grant_type", "Unsupported grant_type.")
        except Refused as exc:
            counts.refused += 1
            return _error(400, "invalid_grant", str(exc))
        return JSONResponse(
            _tokens(family, access, self._grants.expires_in_s, says_scope=says_scope), headers=_NO_STORE
        )

    def _client(self, request: Request, form: Mapping[str, str], *, legacy: bool) -> tuple[bool, Response]:
        """Check client id and secret, sent by basic or in the form."""
        given = (form.get("client_id", ""), form.get("client_secret", ""))
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            try:
                name, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
                given = (unquote_plus(name), unquote_plus(secret))
            except (binascii.Error, UnicodeDecodeError):
                given = ("", "")
        known = given == (self.app.client_id, self.app.client_secret)
        if legacy:
            return known, _error(400, "invalid_client", "Invalid client_id.")
        return known and self.app.registered_at != "cloud", _error(401, "invalid_client", None)

    async def _revoke_legacy(self, request: Request) -> Response:
        """Take the token from the query, without client authentication; an unknown one is no error (chosen)."""
        token = request.query_params.get("access_token")
        if not token:
            return _error(400, "invalid_request", "Missing parameter: access_token.")
        self._watch.counts.revocations += 1
        self._grants.revoke(token)
        return JSONResponse({})

    async def _revoke(self, request: Request) -> Response:
        """RFC 7009."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        known, problem = self._client(request, form, legacy=False)
        if not known:
            return problem
        if not form.get("token"):
            return _error(400, "invalid_request", "Missing parameter: token.")
        self._watch.counts.revocations += 1
        self._grants.revoke(form["token"])
        return Response(status_code=200)


def _tokens(family: Family, access: str, expires_in_s: float, *, says_scope: bool) -> dict[str, object]:
    answer: dict[str, object] = {"token_type": "bearer", "access_token": access, "expires_in": int(expires_in_s)}
    if family.refresh is not None:
        answer["refresh_token"] = family.refresh
    if says_scope:
        answer["scope"] = " ".join(PREFIX + name for name in SCOPES if name in family.scopes)
    return answer | {"id_token": None}


def _acceptable(redirect_uri: str, registered: tuple[str, ...] | None) -> bool:
    if registered is not None:
        return redirect_uri in registered
    return urlsplit(redirect_uri).scheme in {"http", "https"}


def _back(redirect_uri: str, asked: Mapping[str, str], answer: Mapping[str, str]) -> Response:
    query = dict(answer)
    if asked.get("state"):
        query["state"] = asked["state"]
    joint = "&" if "?" in redirect_uri else "?"
    return RedirectResponse(f"{redirect_uri}{joint}{urlencode(query)}", status_code=302, headers=_NO_STORE)


def _error(status: int, error: str, description: str | None) -> Response:
    body = {"error": error} | ({"error_description": description} if description else {})
    return JSONResponse(body, status_code=status, headers=_NO_STORE)


def _ask(path: str, asked: Mapping[str, str], offered: frozenset[str]) -> Response:
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{escape(asked[name])}">'
        for name in _KEPT_PARAMETERS
        if asked.get(name)
    )
    boxes = "".join(
        f'<label><input type="checkbox" name="may_{name}" value="1" checked> {name}</label>'
        for name in SCOPES
        if name in offered
    )
    body = f"""<p>An application asks to read data. Untick what it shall not see.</p>
<form method="post" action="{path}">{hidden}<input type="hidden" name="shown" value="1">{boxes}
<p><button name="decision" value="owner">Sign in as the owner and allow</button>
<button name="decision" value="stranger">Sign in as a stranger and allow</button>
<button name="decision" value="refuse">Refuse</button></p></form>"""
    return _page("Simulated Oura", body, 200)


def _page(title: str, body: str, status: int) -> Response:
    style = "body{font:1rem/1.5 sans-serif;max-width:34rem;margin:3rem auto}label{display:block}"
    text = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return HTMLResponse(f"{text}<h1>{title}</h1>{body}</html>", status_code=status, headers=_NO_STORE)
