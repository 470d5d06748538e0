"""OAuth 2.1 as Authlib implements it, tied to our clients, codes and tokens.

Authlib decides what a request must contain, which grant it is, and how a client authenticates; policy is passed in
through hooks. Overridden is only what would be wrong here, each with its reason. One `Protocol` serves one request and
knows its client beforehand, so nothing is looked up twice.

Source: RFC 6749, 7009, 7591, 7636, 8707; OAuth 2.1; RFC 9700.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authlib.consts import default_json_headers
from authlib.oauth2.rfc6749 import (
    AuthorizationCodeGrant,
    AuthorizationServer,
    ClientMixin,
    InvalidClientError,
    InvalidGrantError,
    InvalidRequestError,
    InvalidScopeError,
    OAuth2Error,
    RefreshTokenGrant,
    TokenMixin,
    UnsupportedGrantTypeError,
)
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint, InvalidClientMetadataError, InvalidRedirectURIError

from app.authserver.clients.known import Clients
from app.authserver.clients.registration import GRANT_TYPES, RESPONSE_TYPES, BadMetadata, Registration, settle
from app.authserver.issued.codes import Codes
from app.authserver.issued.grants import Grants
from app.authserver.issued.tokens import TokenAnswer, TokenRejected, Tokens
from app.authserver.protocol.basic import basic_credentials
from app.authserver.protocol.bridge import Answer, wait
from app.authserver.protocol.pkce import Pkce
from app.authserver.protocol.resources import Resource
from app.authserver.protocol.scopes import UnknownScope, narrow, resolve
from app.authserver.records import AUTH_METHODS, AccessToken, Client, Code, RefreshToken, token_hash
from app.authserver.redirects import leads_here


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the hooks reach."""

    clients: Clients
    codes: Codes
    tokens: Tokens
    grants: Grants
    resource: Resource


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]  # Authlib ships no types
    """The `resource` asked for is not the one this server guards (RFC 8707)."""

    error = "invalid_target"


class Unauthenticated(InvalidClientError):  # type: ignore[misc]  # Authlib ships no types
    """The client is unknown or did not prove who it is. A 401 names the scheme it could use (RFC 9110 15.5.2)."""

    status_code = 401

    def get_headers(self) -> list[tuple[str, str]]:
        """Return them with a challenge of the registered form; Authlib's lacks the realm."""
        return [*OAuth2Error.get_headers(self), ("WWW-Authenticate", 'Basic realm="vitals"')]


class _NoSuchGrantType(UnsupportedGrantTypeError):  # type: ignore[misc]  # Authlib ships no types
    """Another grant type, or none. Authlib's own text would repeat what was sent, whatever it is."""

    description = f"Send grant_type with one of: {', '.join(GRANT_TYPES)}."

    def get_error_description(self) -> str:
        """Return the text."""
        return self.description


class Protocol(AuthorizationServer):  # type: ignore[misc]  # Authlib ships no types
    """Authlib's server for one request.

    Args:
        rooms: What the hooks reach.
        client: The client that the request names, or None if there is no such client.
    """

    def __init__(self, rooms: Rooms, client: Client | None) -> None:
        super().__init__()
        self.rooms = rooms
        self._client = None if client is None else ProtocolClient(client)
        self.register_grant(CodeGrant, [Pkce(required=True)])
        self.register_grant(RefreshGrant)
        self.register_endpoint(Revocation)
        self.register_endpoint(Registering)
        self.register_client_auth_method("client_secret_basic", _authenticate_basic)

    def query_client(self, client_id: str) -> "ProtocolClient | None":
        """Return the client of this request, if that is the one meant."""
        client = self._client
        return client if client is not None and client.record.client_id == client_id else None

    def validate_requested_scope(self, scope: str | None) -> None:
        """Refuse a scope that names nothing served here."""
        try:
            resolve(scope)
        except UnknownScope as unknown:
            raise InvalidScopeError(str(unknown)) from None

    def get_token_grant(self, request: Any) -> Any:
        """Return the grant that a token request uses."""
        try:
            return super().get_token_grant(request)
        except UnsupportedGrantTypeError as error:
            raise _NoSuchGrantType(error.grant_type) from None

    def authenticate_client(self, request: Any, methods: Sequence[str], endpoint: str = "token") -> Any:
        """Authenticate, and answer every failure alike."""
        if request.form.get("client_secret") and basic_credentials(request.headers.get("authorization")) is not None:
            raise InvalidRequestError("The client authenticated in two ways at once. Use the registered one.")
        try:
            return super().authenticate_client(request, methods, endpoint)
        except InvalidClientError:
            raise Unauthenticated(
                "The client is unknown, or did not authenticate by the method and secret it registered. Send client_id "
                "as registered; if it was, register again."
            ) from None

    def create_oauth2_request(self, request: Any) -> Any:
        """Return the request, which is Authlib's already."""
        return request

    def create_json_request(self, request: Any) -> Any:
        """Return the request, which is Authlib's already."""
        return request

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Nobody listens."""

    def handle_response(self, status: int, body: Mapping[str, object], headers: Sequence[tuple[str, str]]) -> Answer:
        """Pack what Authlib answers."""
        return Answer(status, body, headers)


class ProtocolClient(ClientMixin):  # type: ignore[misc]  # Authlib ships no types
    """A `Client` as Authlib asks about it."""

    def __init__(self, record: Client) -> None:
        self.record = record

    def get_client_id(self) -> str:
        """Return its id."""
        return self.record.client_id

    def get_default_redirect_uri(self) -> None:
        """There is none: every request names its redirect URI, so that what is compared was really sent."""

    def get_allowed_scope(self, scope: str | None) -> str:
        """Return what of the scope is served. What the client registered plays no part, or step-up would break."""
        return " ".join(resolve(scope))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """See `Client.allows_redirect`."""
        return self.record.allows_redirect(redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        """Compare in constant time."""
        known = self.record.secret_hash
        return known is not None and hmac.compare_digest(known, token_hash(client_secret))

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:  # noqa: ARG002 - the same at every endpoint
        """Hold the client to the method it registered."""
        return method == self.record.auth_method

    def check_response_type(self, response_type: str) -> bool:
        """Every client may use what is served."""
        return response_type in RESPONSE_TYPES

    def check_grant_type(self, grant_type: str) -> bool:
        """Every client may use what is served."""
        return grant_type in GRANT_TYPES


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]  # Authlib ships no types
    """`grant_type=authorization_code`."""

    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def authenticate_token_endpoint_client(self) -> ProtocolClient:
        """Authenticate; Authlib looks for the code next, and its own text does not say what to send."""
        client: ProtocolClient = super().authenticate_token_endpoint_client()
        _require(self.request, "code", "the one that came back to the redirect URI")
        return client

    def query_authorization_code(self, code: str, client: ProtocolClient) -> "PendingCode":
        """Return the code, if it was made for this client and redirect URI. Authlib compares these again."""
        found = wait(self.server.rooms.codes.find, code)
        if found is None or found.client_id != client.get_client_id():
            raise InvalidGrantError(
                "The code is unknown, has expired, or was made for another client. Start the authorization again."
            )
        if self.request.payload.redirect_uri != found.redirect_uri:
            raise InvalidGrantError(
                "The redirect_uri is missing or is not that of the authorization request. Send the same one, character "
                "by character."
            )
        return PendingCode(code, found)

    def create_token_response(self) -> tuple[int, TokenAnswer, Sequence[tuple[str, str]]]:
        """Redeem the code, once. Authlib would save the token and delete the code in two steps, so two could win."""
        pending: PendingCode = self.request.authorization_code
        _check_resource(self)
        wait(self.server.rooms.clients.keep, self.client.record)  # first: nothing may fail once the code is spent
        return 200, _or_invalid_grant(self.server.rooms.codes.redeem, pending.value), default_json_headers


class PendingCode:
    """A `Code` as Authlib asks about it."""

    code_challenge_method = "S256"

    def __init__(self, value: str, record: Code) -> None:
        self.value = value
        self.record = record
        self.code_challenge = record.code_challenge

    def get_redirect_uri(self) -> str:
        """Return what the token request must repeat."""
        return self.record.redirect_uri

    def get_scope(self) -> str:
        """Return what the owner approved."""
        return " ".join(self.record.scopes)


class RefreshGrant(RefreshTokenGrant):  # type: ignore[misc]  # Authlib ships no types
    """`grant_type=refresh_token`."""

    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def authenticate_refresh_token(self, refresh_token: str) -> "HeldToken | None":
        """Return the token with its grant's scopes, used before or not: `Tokens.rotate` tells which."""
        found = wait(self.server.rooms.tokens.find_refresh, refresh_token)
        grant = None if found is None else wait(self.server.rooms.grants.find, found.grant_id)
        if found is None or grant is None or grant.resource != self.server.rooms.resource.uri:
            return None
        return HeldToken(refresh_token, found, grant.scopes)

    def _validate_request_token(self, client: ProtocolClient) -> "HeldToken":
        _require(self.request, "refresh_token", "the newest one that this server gave")
        try:
            return super()._validate_request_token(client)  # type: ignore[no-any-return]  # Authlib ships no types
        except InvalidGrantError:  # Authlib's has no text
            raise InvalidGrantError("The refresh token is unknown, expired or ended. Connect again.") from None

    def _validate_token_scope(self, token: "HeldToken") -> None:
        try:
            self._scopes = narrow(self.request.payload.scope, token.scopes)
        except UnknownScope as unknown:
            raise InvalidScopeError(str(unknown)) from None

    def create_token_response(self) -> tuple[int, TokenAnswer, Sequence[tuple[str, str]]]:
        """Rotate. Authlib would save the new token and revoke the old one in two steps, so two could win."""
        held: HeldToken = self.request.refresh_token
        _check_resource(self)
        wait(self.server.rooms.clients.keep, self.client.record)
        answer = _or_invalid_grant(self.server.rooms.tokens.rotate, held.value, self._scopes)
        return 200, answer, default_json_headers


class HeldToken(TokenMixin):  # type: ignore[misc]  # Authlib ships no types
    """A token as Authlib asks about it."""

    def __init__(self, value: str, record: AccessToken | RefreshToken, scopes: tuple[str, ...] = ()) -> None:
        self.value = value
        self.record = record
        self.scopes = scopes

    def check_client(self, client: ProtocolClient) -> bool:
        """Say whether the token was issued to this client."""
        return self.record.client_id == client.get_client_id()

    def get_scope(self) -> str:
        """Return the scopes of its grant."""
        return " ".join(self.scopes)


class Revocation(RevocationEndpoint):  # type: ignore[misc]  # Authlib ships no types
    """Revocation: an access token alone, a refresh token with its whole grant."""

    CLIENT_AUTH_METHODS = AUTH_METHODS

    def check_params(self, request: Any, client: Any) -> None:  # noqa: ARG002 - Authlib's signature
        """Require the token. The hint is never needed, so an odd one is no error (RFC 7009 section 2.1)."""
        _require(request, "token", "the access or refresh token to end")

    def authenticate_token(self, request: Any, client: Any) -> "HeldToken | None":
        """Return the token, if it is this client's or nobody's."""
        try:
            return super().authenticate_token(request, client)  # type: ignore[no-any-return]  # Authlib ships no types
        except InvalidGrantError:  # Authlib's has no text
            raise InvalidGrantError(
                "The token was issued to another client, so it was not ended. Only the app that holds it can end it, "
                "or the owner."
            ) from None

    def query_token(self, token_string: str, token_type_hint: str | None) -> HeldToken | None:  # noqa: ARG002 - see above
        """Look the token up as either kind."""
        tokens = self.server.rooms.tokens
        found = wait(tokens.find_refresh, token_string) or wait(tokens.find_access, token_string)
        return None if found is None else HeldToken(token_string, found)

    def revoke_token(self, token: HeldToken, request: Any) -> None:  # noqa: ARG002 - Authlib's signature
        """End it."""
        if isinstance(token.record, RefreshToken):
            wait(self.server.rooms.grants.revoke, token.record.grant_id)
        else:
            wait(self.server.rooms.tokens.revoke_access, token.value)


class Registering(ClientRegistrationEndpoint):  # type: ignore[misc]  # Authlib ships no types
    """Registration, open to anyone: it gives an app nothing until an owner consents."""

    def authenticate_token(self, request: Any) -> bool:  # noqa: ARG002 - Authlib's signature
        """No initial access token is asked for."""
        return True

    def extract_client_metadata(self, request: Any) -> dict[str, object]:
        """Settle the metadata by our rules; Authlib then checks the result and never sees what could trip it."""
        try:
            self._settled: Registration = settle(request.payload.data)
        except BadMetadata as bad:
            kind = InvalidRedirectURIError if bad.code == "invalid_redirect_uri" else InvalidClientMetadataError
            raise kind(str(bad)) from None
        if any(leads_here(each, self.server.rooms.resource.uri) for each in self._settled.redirect_uris):
            raise InvalidRedirectURIError("A redirect URI must not lead to this server itself.")
        request.payload = type(request.payload)(self._settled.members())
        return super().extract_client_metadata(request)  # type: ignore[no-any-return]  # Authlib ships no types

    def generate_client_info(self, request: Any) -> dict[str, object]:  # noqa: ARG002 - Authlib's signature
        """Register. Authlib's own would hand a secret to public clients too."""
        client, secret = wait(self.server.rooms.clients.register, self._settled)
        info: dict[str, object] = {"client_id": client.client_id, "client_id_issued_at": int(client.created_at)}
        if secret is not None:
            info |= {"client_secret": secret, "client_secret_expires_at": 0}
        return info

    def save_client(self, client_info: object, client_metadata: object, request: object) -> None:
        """Nothing is left to do."""

    def get_server_metadata(self) -> dict[str, object]:
        """Return what Authlib checks the client's metadata against."""
        return {
            "grant_types_supported": list(GRANT_TYPES),
            "response_types_supported": list(RESPONSE_TYPES),
            "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        }


def _authenticate_basic(query_client: Any, request: Any) -> Any:
    found = basic_credentials(request.headers.get("authorization"))
    if found is None:
        return None
    client = query_client(found[0])
    return client if client is not None and client.check_client_secret(found[1]) else None


def _require(request: Any, name: str, which: str) -> None:
    if not request.form.get(name):
        raise InvalidRequestError(f"The parameter {name} is missing from the body. Send {which}.")


def _check_resource(grant: Any) -> None:
    """Refuse another resource than the one the tokens are bound to; leaving it out means that one."""
    resource: Resource = grant.server.rooms.resource
    if not resource.accepts(grant.request.payload.datalist.get("resource", [])):
        raise InvalidTargetError(f"The resource must be {resource.uri}, sent once or left out.")


def _or_invalid_grant(work: Any, *args: object) -> TokenAnswer:
    try:
        return wait(work, *args)  # type: ignore[no-any-return]  # `work` is one of two methods that return TokenAnswer
    except TokenRejected as rejected:
        raise InvalidGrantError(str(rejected)) from None
