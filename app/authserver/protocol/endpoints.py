"""/token, /revoke and /register as HTTP: a bounded body in, JSON that nobody may cache out.

Credentials and tokens are read from the body and the Authorization header alone, never from the query. There is no
CORS here: an app inside a web page could not use the token anyway, since the resource allows no foreign origin.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from app.authserver.clients.cimd import BadDocument
from app.authserver.limits.allowances import (
    FAILED_AUTHENTICATION,
    REGISTRATION,
    SHARED_APP_REGISTRATIONS,
    of_shared_app,
)
from app.authserver.limits.gate import Gate
from app.authserver.protocol.basic import basic_credentials
from app.authserver.protocol.bridge import Answer, BodyRequest, Bridge, FormRequest
from app.authserver.protocol.oauth import Protocol, Rooms
from app.authserver.records import Client
from app.errors import BadRequest, StoreUnavailable, TooManyRequests

MAX_FORM_BYTES = 64 * 1024
MAX_REGISTRATION_BYTES = 64 * 1024
_MAX_FIELDS = 50
# Those that an error names back; any other name may be anything.
_NAMES = frozenset(
    {"grant_type", "client_id", "client_secret", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"}
    | {"token", "token_type_hint"}
)
_NO_METADATA = "Send client metadata as a JSON object with at least redirect_uris (RFC 7591)."
_ANY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_ELSEWHERE = frozenset({"cross-site", "same-site"})  # values of Sec-Fetch-Site that name another site or host
_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}

Handle = Callable[[Request], Awaitable[Answer]]


class BadBody(BadRequest):
    """A body that is too large or not of the form it has to be."""

    def __init__(self, text: str, *, status: int = 400, error: str = "invalid_request") -> None:
        self.status = status
        self.error = error
        super().__init__(text)


class Endpoints:
    """The three endpoints that apps call themselves."""

    def __init__(self, rooms: Rooms, bridge: Bridge, gate: Gate, *, issuer: str) -> None:
        self._rooms = rooms
        self._bridge = bridge
        self._gate = gate
        self._issuer = issuer

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        handlers: tuple[tuple[str, Handle], ...] = (
            ("/token", self._token),
            ("/revoke", self._revoke),
            ("/register", self._register),
        )
        return [Route(path, _Endpoint(handle).answer, methods=_ANY_METHOD) for path, handle in handlers]

    async def _token(self, request: Request) -> Answer:
        asked, client = await self._read_form(request, "/token")
        answer = await self._bridge.run(Protocol(self._rooms, client).create_token_response, asked)
        return await self._counted(request, client, answer)

    async def _revoke(self, request: Request) -> Answer:
        asked, client = await self._read_form(request, "/revoke")
        answer = await self._bridge.run(Protocol(self._rooms, client).create_endpoint_response, "revocation", asked)
        return await self._counted(request, client, answer)

    async def _counted(self, request: Request, client: Client | None, answer: Answer) -> Answer:
        """Count an answer that says: this is not the secret of that client.

        What succeeds is never counted, and never held up by what strangers at the same address got wrong. Nor is an app
        counted that nobody knows any more, or that has no secret: there is nothing to guess, and only `invalid_client`
        makes it register anew (RFC 6749 section 5.2). Whoever came before it at its address must not keep it from that.
        """
        if answer.status == 401 and client is not None and client.secret_hash is not None:
            await self._gate.admit(FAILED_AUTHENTICATION, self._gate.asker(request))
        return answer

    async def _register(self, request: Request) -> Answer:
        _check_sender(request, self._issuer)  # before it is counted: else a page could use the owner's own allowance up
        body = await _read_body(request, MAX_REGISTRATION_BYTES)
        try:
            metadata = json.loads(body)
        except (ValueError, RecursionError):
            raise BadBody(_NO_METADATA, error="invalid_client_metadata") from None
        if not isinstance(metadata, dict) or not metadata:
            raise BadBody(_NO_METADATA, error="invalid_client_metadata")
        await self._admit(request, metadata)
        asked = BodyRequest(self._issuer + "/register", metadata)
        server = Protocol(self._rooms, None)
        return await self._bridge.run(server.create_endpoint_response, "client_registration", asked)

    async def _admit(self, request: Request, metadata: Mapping[str, object]) -> None:
        try:
            await self._gate.admit(REGISTRATION, self._gate.asker(request))
        except TooManyRequests:
            shared = of_shared_app(metadata.get("redirect_uris"))
            if not shared or not await self._gate.spend(SHARED_APP_REGISTRATIONS):
                raise

    async def _read_form(self, request: Request, path: str) -> tuple[FormRequest, Client | None]:
        """Read a form, and find the client that it or the Authorization header names."""
        if _from_foreign_page(request, self._issuer) and request.headers.get("sec-fetch-site") in _ELSEWHERE:
            # Before its client is looked at, which may cost its reader's address something. Only what a browser says
            # counts here: connected apps renew their access at this address, and some send an Origin of their own.
            raise BadBody("Web pages of other sites may not ask for tokens.", status=403)
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/x-www-form-urlencoded":
            raise BadBody("Send the parameters in the body, as application/x-www-form-urlencoded.")
        body = await _read_body(request, MAX_FORM_BYTES)
        try:
            parameters = parse_qsl(
                body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
            )
        except ValueError:
            raise BadBody("The body cannot be read as a form in UTF-8.") from None
        asked = FormRequest("POST", self._issuer + path, parameters, dict(request.headers))
        for name, values in asked.payload.datalist.items():
            if len(values) > 1 and name != "resource":
                shown = f"The parameter {name}" if name in _NAMES else "A parameter"
                raise BadBody(f"{shown} was sent more than once. Send each of them once.")
        return asked, await self._find_client(asked, request)

    async def _find_client(self, asked: FormRequest, request: Request) -> Client | None:
        named = asked.payload.client_id
        basic = basic_credentials(asked.headers.get("authorization"))
        if basic is not None:
            if named is not None and named != basic[0]:
                raise BadBody("The body names another client_id than the Authorization header. Send one of the two.")
            named = basic[0]
        if named is None:
            return None
        try:
            return await self._rooms.clients.find(named, asker=self._gate.asker(request))
        except BadDocument:
            return None  # answered as invalid_client, after which an app starts anew


class _Endpoint:
    """The frame around a handler: POST only, and every refusal as JSON."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        if request.method != "POST":
            return _refuse(405, "invalid_request", "This address answers POST alone.", {"Allow": "POST"})
        try:
            answer = await self._handle(request)
        except BadBody as bad:
            return _refuse(bad.status, bad.error, str(bad))
        except TooManyRequests as many:
            headers = {"Retry-After": str(many.retry_after_s)}
            return _refuse(429, "temporarily_unavailable", str(many), headers)
        except ClientDisconnect:
            return _refuse(400, "invalid_request", "The body ended too early. Send the request again.")
        except StoreUnavailable as failed:
            return _refuse(503, "temporarily_unavailable", failed.public, {"Retry-After": "5"})
        return JSONResponse(dict(answer.body), answer.status, headers={**dict(answer.headers), **_NO_STORE})


def _check_sender(request: Request, own: str) -> None:
    """Refuse a registration that a web page of another site made in somebody's browser.

    A page can post text without asking anybody, JSON not; and a browser says where a post comes from. An app that is
    no web page says nothing, or names a scheme of its own.
    """
    if _from_foreign_page(request, own):
        raise BadBody("Web pages of other sites may not register.", status=403)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise BadBody("Send the client metadata as application/json.", error="invalid_client_metadata")


def _from_foreign_page(request: Request, own: str) -> bool:
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") in _ELSEWHERE
    return origin != own and (origin == "null" or origin.lower().startswith(("http:", "https:")))


async def _read_body(request: Request, limit: int) -> bytes:
    """Read a body, but never more than `limit` bytes of it."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise BadBody(f"The body is larger than the {limit} bytes that are taken here.", status=413)
    return body


def _refuse(
    status: int,
    error: str,
    description: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return JSONResponse(
        {"error": error, "error_description": description}, status, headers={**(headers or {}), **_NO_STORE}
    )
