"""What arrives at /authorize → a validated `AuthorizationRequest`, or an error for a page or for the app.

Until the client is known and the redirect URI is one of its own, an error is only ever shown, never sent anywhere.
After that it goes to the app by itself only where that is sure to harm nobody: anyone may register an address, and a
link that needs no sign-in would lead from this host to it.

Source: RFC 6749 section 4.1.2.1, RFC 7636 section 4.4.1, RFC 8707 section 2, RFC 9207, RFC 9700 section 4.11.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from authlib.oauth2.rfc6749 import InvalidRequestError, OAuth2Error, UnsupportedResponseTypeError

from app.authserver.clients.cimd import BadDocument
from app.authserver.clients.pinned import answered_at_once
from app.authserver.limits.askers import Asker
from app.authserver.protocol.bridge import FormRequest
from app.authserver.protocol.oauth import InvalidTargetError, Protocol, Rooms
from app.authserver.records import AuthorizationRequest, BadAuthorization, Client
from app.authserver.redirects import error_location, leads_here

MAX_STATE_CHARS = 4096  # it travels back in a Location header; servers in between stop at 8 kB
_NOTHING = "Nothing was connected. Try again in a few minutes; if it stays, whoever makes the app has to mend that."
_ONCE = ("response_type", "scope", "state", "code_challenge", "code_challenge_method", "response_mode")


class _OnlyCode(UnsupportedResponseTypeError):  # type: ignore[misc]  # Authlib ships no types
    """Another response type. Authlib's own text repeats what was sent, and raises where that is no plain ASCII."""

    def __init__(self) -> None:
        super().__init__("")

    def get_error_description(self) -> str:
        """Return the text."""
        return "The only response_type served is code."


@dataclass(frozen=True, slots=True)
class _Back:
    """Where an error goes once that is safe."""

    redirect_uri: str
    state: str | None


class Authorizations:
    """Validates authorization requests. Asking twice changes nothing, so the same parameters may be checked again."""

    def __init__(self, rooms: Rooms, *, issuer: str) -> None:
        self._rooms = rooms
        self._issuer = issuer

    async def validate(self, params: Sequence[tuple[str, str]], *, asker: Asker | None = None) -> AuthorizationRequest:
        """Check every parameter of an authorization request.

        Args:
            params: Name and value pairs in the order they came, repeated ones included.
            asker: Who sent it, while that may be anyone; None: a browser on its way back from the source.

        Raises:
            BadAuthorization: It cannot go on; see there for where the error may go.
            TooManyRequests: This asker had too many documents of apps fetched.
        """
        client = await self._client(_all(params, "client_id"), asker)
        redirects = _all(params, "redirect_uri")
        if len(redirects) != 1 or not client.allows_redirect(redirects[0]):
            raise BadAuthorization(
                "invalid_request",
                "The app did not name exactly one redirect URI that it has registered, so nothing is sent there. "
                "Connect again from the app; if that does not help, remove the connection there and add it anew.",
            )
        if leads_here(redirects[0], self._issuer):
            raise BadAuthorization(
                "invalid_request",
                "The app wants the result sent to this server itself, where no app is. Nothing is sent there, and "
                "nothing was connected. Connect again from the app.",
            )
        states = _all(params, "state")
        state = states[0] if len(states) == 1 and len(states[0]) <= MAX_STATE_CHARS else None
        try:
            scopes, challenge = self._check(params, client)
        except OAuth2Error as error:
            back = error_location(_Back(redirects[0], state), error.error, error.get_error_description(), self._issuer)
            raise BadAuthorization(
                error.error,
                error.get_error_description(),
                redirect_location=back,
                follow=answered_at_once(redirects[0]),
            ) from None
        return AuthorizationRequest(client, redirects[0], state, scopes, self._rooms.resource.uri, challenge)

    async def _client(self, ids: list[str], asker: Asker | None) -> Client:
        if len(ids) != 1:
            raise BadAuthorization(
                "invalid_request",
                "The app did not say who it is, or said it twice (one client_id is needed). Nothing was connected. "
                "Connect again from the app; if that does not help, remove the connection there and add it anew.",
            )
        try:
            client = await self._rooms.clients.find(ids[0], asker=asker)
        except BadDocument as bad:
            raise BadAuthorization("invalid_client", f"{bad} {_NOTHING}") from None
        if client is None:
            raise BadAuthorization(
                "invalid_client",
                "This app is not registered here, or was forgotten because nobody used it. "
                "Remove the connection in the app and add it anew; it then registers again.",
            )
        return client

    def _check(self, params: Sequence[tuple[str, str]], client: Client) -> tuple[tuple[str, ...], str]:
        """Check what is left; raises Authlib's errors. No hook reaches the store here, so no thread is needed."""
        _check_shape(params)
        if not self._rooms.resource.accepts(_all(params, "resource")):
            raise InvalidTargetError(f"The resource must be {self._rooms.resource.uri}, sent once or left out.")
        request = FormRequest("GET", self._issuer + "/authorize", params)
        Protocol(self._rooms, client).get_consent_grant(request)
        return tuple(request.scope.split()), request.payload.data["code_challenge"]


def _check_shape(params: Sequence[tuple[str, str]]) -> None:
    """Refuse what Authlib would answer without a redirect, or let pass."""
    for name in _ONCE:
        if len(_all(params, name, empty=True)) > 1:
            raise InvalidRequestError(f"The parameter {name} was sent more than once.")
    if sum(len(each) for each in _all(params, "state")) > MAX_STATE_CHARS:
        raise InvalidRequestError(f"The state is longer than {MAX_STATE_CHARS} characters.")
    kinds = _all(params, "response_type")
    if not kinds:
        raise InvalidRequestError("The parameter response_type is missing. Send response_type=code.")
    if kinds != ["code"]:
        raise _OnlyCode
    if _all(params, "response_mode") not in ([], ["query"]):
        raise InvalidRequestError("The only response_mode served is query.")


def _all(params: Sequence[tuple[str, str]], name: str, *, empty: bool = False) -> list[str]:
    """Return the values of a parameter. One without a value counts as not sent (RFC 6749 section 3.1)."""
    return [value for each, value in params if each == name and (value or empty)]
