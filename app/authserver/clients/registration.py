"""Dynamic client registration as pure rules: what an app asked for → what it gets, or why it may not register.

What this server does not serve is replaced, as RFC 7591 section 2 allows, so that an app that also asks for other grant
types or sends members nobody knows can register all the same. Addresses, methods and names are checked; nothing of them
is ever fetched. The scope asked for here binds nothing: later requests may ask for what the server then offers.

Source: RFC 7591.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from app.authserver.records import AUTH_METHODS, AuthMethod
from app.authserver.redirects import MAX_REDIRECTS, BadRedirect, check_redirect
from app.errors import BadRequest

NAME_MAX_CHARS = 200
_NAME_REFUSED_CHARS = 1_000  # what is as long as this is no name; between the two an honest one is only cut
GRANT_TYPES = ("authorization_code", "refresh_token")
RESPONSE_TYPES = ("code",)


class BadMetadata(BadRequest):
    """Client metadata that cannot be registered; `code` is RFC 7591's word for it."""

    def __init__(self, code: Literal["invalid_redirect_uri", "invalid_client_metadata"], text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Registration:
    """What is registered."""

    name: str
    redirect_uris: tuple[str, ...]
    auth_method: AuthMethod

    def members(self) -> dict[str, object]:
        """Return it as RFC 7591 names it; no member is null."""
        return {
            "client_name": self.name,
            "redirect_uris": list(self.redirect_uris),
            "token_endpoint_auth_method": self.auth_method,
            "grant_types": list(GRANT_TYPES),
            "response_types": list(RESPONSE_TYPES),
        }


def settle(metadata: object) -> Registration:
    """Settle what an app registers.

    Raises:
        BadMetadata: No usable redirect URI, a method that is not served, or a member of the wrong type.
    """
    if not isinstance(metadata, Mapping):
        raise BadMetadata("invalid_client_metadata", "The body must be a JSON object of client metadata (RFC 7591).")
    uris = _redirects(metadata.get("redirect_uris"))
    method = metadata.get("token_endpoint_auth_method")
    if method is None:
        method = "none"  # some apps leave the choice to us and read what comes back; PKCE protects them all
    if method not in AUTH_METHODS:
        raise BadMetadata(
            "invalid_client_metadata",
            f"This token_endpoint_auth_method is not served. Use one of: {', '.join(AUTH_METHODS)}.",
        )
    _check_types(metadata)
    return Registration(client_name(metadata) or "Unnamed app", uris, cast("AuthMethod", method))


def client_name(metadata: Mapping[str, object]) -> str:
    """Return the name an app gives itself, without invisible characters and cut to `NAME_MAX_CHARS`; "" if none.

    Raises:
        BadMetadata: It is not text, or far too long.
    """
    name = metadata.get("client_name")
    if name is None:
        return ""
    if not isinstance(name, str):
        raise BadMetadata("invalid_client_metadata", "client_name must be text.")
    if len(name) > _NAME_REFUSED_CHARS:
        raise BadMetadata(
            "invalid_client_metadata",
            f"client_name has {len(name)} characters; at most {_NAME_REFUSED_CHARS} are accepted.",
        )
    return "".join(each for each in name if each.isprintable()).strip()[:NAME_MAX_CHARS]


def _redirects(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise BadMetadata("invalid_redirect_uri", "redirect_uris must be a list with at least one address.")
    if len(value) > MAX_REDIRECTS:
        raise BadMetadata(
            "invalid_redirect_uri", f"There are {len(value)} redirect_uris; at most {MAX_REDIRECTS} are accepted."
        )
    try:
        return tuple(check_redirect(each) for each in value)
    except BadRedirect as bad:
        raise BadMetadata("invalid_redirect_uri", str(bad)) from None


def _check_types(metadata: Mapping[str, object]) -> None:
    """Refuse an app that could do nothing here: one that names its grant or response types and leaves ours out."""
    for member, ours in (("grant_types", "authorization_code"), ("response_types", "code")):
        value = metadata.get(member)
        if value is None:
            continue
        if not isinstance(value, list) or ours not in value:
            raise BadMetadata("invalid_client_metadata", f"{member} must be a list that includes {ours}.")
