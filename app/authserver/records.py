"""What the authorization server remembers, as frozen values: clients, authorization requests, codes, grants, tokens.

Pure data and its JSON form; the modules named after each record decide, store and expire.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeVar, cast
from urllib.parse import urlsplit

import orjson

from app.authserver.redirects import redirect_matches
from app.errors import CallerError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AuthMethod = Literal["none", "client_secret_post", "client_secret_basic"]
AUTH_METHODS: tuple[AuthMethod, ...] = ("none", "client_secret_post", "client_secret_basic")


@dataclass(frozen=True, slots=True)
class Client:
    """An app that may ask: registered here, or described by its own metadata document."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: AuthMethod
    secret_hash: str | None = field(repr=False)  # of 256 random bits; None for a public client
    document: bool  # True: the client_id is the address of the document that describes it (CIMD)
    created_at: float  # unix s

    @property
    def host(self) -> str | None:
        """Host that the client_id was fetched from; None for a registered client, whose name nobody vouches for."""
        return urlsplit(self.client_id).hostname if self.document else None

    def allows_redirect(self, uri: str) -> bool:
        """Say whether the app may be answered at `uri`: exact match, the port ignored on http loopback."""
        return any(redirect_matches(registered, uri) for registered in self.redirect_uris)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A request at /authorize after every check; only the owner's consent is missing."""

    client: Client
    redirect_uri: str
    state: str | None
    scopes: tuple[str, ...]
    resource: str
    code_challenge: str  # S256

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Return it as parameters that mean the same, and nothing else that was sent along: their size is bounded."""
        state = () if self.state is None else (("state", self.state),)
        return (
            ("response_type", "code"),
            ("client_id", self.client.client_id),
            ("redirect_uri", self.redirect_uri),
            *state,
            ("scope", " ".join(self.scopes)),
            ("resource", self.resource),
            ("code_challenge", self.code_challenge),
            ("code_challenge_method", "S256"),
        )


class BadAuthorization(CallerError):
    """An authorization request that cannot go on.

    `redirect_location` is None while client or redirect URI are not proven: then only a page may be shown. `follow`
    says whether the browser may be sent there at once; else the person decides.
    """

    def __init__(
        self, error: str, description: str, *, redirect_location: str | None = None, follow: bool = False
    ) -> None:
        self.error = error
        self.description = description
        self.redirect_location = redirect_location
        self.follow = follow
        super().__init__(description)


@dataclass(frozen=True, slots=True)
class Code:
    """An authorization code: what its redemption must match, and which grant it makes."""

    client_id: str
    client_name: str
    redirect_uri: str
    scopes: tuple[str, ...]
    resource: str
    code_challenge: str
    owner: str
    grant_id: str  # chosen here, so that redeeming twice can never make two grants
    expires_at: float  # unix s
    used: bool = False
    ticked: tuple[str, ...] | None = None  # see `Grant`


@dataclass(frozen=True, slots=True)
class Grant:
    """What an owner allowed one app. Every token stands on one; without it they are worth nothing."""

    id: str
    owner: str
    client_id: str
    client_name: str
    redirect_uri: str
    scopes: tuple[str, ...]
    resource: str
    created_at: float  # unix s
    refreshed_at: float | None = None  # unix s; None: never refreshed
    limits: Mapping[str, object] = field(default_factory=dict)  # unlimited until the consent page offers limits
    # The scopes that the owner gave at the source when approving this app. The sign-in there is one for all apps, so
    # without this an app would get what was ticked for another. None: the source did not say; no limit of its own.
    ticked: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token, without its value."""

    grant_id: str
    client_id: str
    scopes: tuple[str, ...]
    resource: str
    expires_at: float  # unix s


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A refresh token, without its value. Once rotated it points to its successor."""

    grant_id: str
    client_id: str
    expires_at: float  # unix s
    rotated_at: float | None = None  # unix s; None: not used yet
    successor: str | None = None  # key of the refresh token that took its place


Record = TypeVar("Record", bound="DataclassInstance")


def to_json(record: "DataclassInstance") -> bytes:
    """Return the stored form: the same record always gives the same bytes, as compare-and-set needs."""
    return json.dumps(asdict(record), separators=(",", ":"), sort_keys=True).encode()


def from_json(kind: type[Record], raw: bytes) -> Record:
    """Read a stored record. Members of another version are left out here, and kept by whoever writes `amended`.

    A member that a later version adds needs a default: records written before it do not have it.
    """
    members = cast("dict[str, object]", orjson.loads(raw))
    known = _names(kind)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in members.items() if k in known})


def amended(raw: bytes, **changes: object) -> bytes:
    """Return a stored record with some members changed.

    All others stay as they are, also those that only a newer version knows: while versions change over, an older
    process must not wipe out what the newer one wrote.
    """
    members = {**cast("dict[str, object]", orjson.loads(raw)), **changes}
    return json.dumps(members, separators=(",", ":"), sort_keys=True).encode()


@cache
def _names(kind: type["DataclassInstance"]) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind))


def token_hash(value: str) -> str:
    """Name a secret in a store key without writing it down.

    A plain hash is enough: every value hashed here carries 256 random bits, so there is nothing to guess.
    """
    return hashlib.sha256(value.encode()).hexdigest()
