"""The authorization server that apps meet, wired together: protocol, policy, discovery.

The sign-in half (`signin`) stands on it: it validates a request, asks the owner, and has a code issued.
"""

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.routing import BaseRoute

from app.authserver.clients.cimd import Documents, FetchDocument
from app.authserver.clients.cimd_fetch import DocumentFetcher
from app.authserver.clients.known import Clients
from app.authserver.clients.sealed_ids import SealedIds
from app.authserver.issued.codes import Codes
from app.authserver.issued.grants import Grants
from app.authserver.issued.tokens import Tokens
from app.authserver.issued.verify import Verifier
from app.authserver.limits.askers import Askers
from app.authserver.limits.gate import Gate
from app.authserver.protocol.authorizations import Authorizations
from app.authserver.protocol.bridge import Bridge
from app.authserver.protocol.endpoints import Endpoints
from app.authserver.protocol.metadata import metadata_routes
from app.authserver.protocol.oauth import Rooms
from app.authserver.protocol.resources import Resource
from app.authserver.redirects import LOOPBACK_HOSTS
from app.store.base import Store
from app.store.crypto import Keys

LOOPBACK = ("127.0.0.1", "::1")


class AuthServer:
    """Everything that issues and checks what apps hold.

    Args:
        store: Where clients, grants and token hashes live.
        keys: Seal the ids of clients that are not written down, and make tags of addresses.
        issuer: The public address, no slash at the end.
        resource: The protected resource's address, below the issuer.
        owners: Owner keys of those who may use the connector now.
        now: Unix time, in seconds.
        fetch_document: Fetches a client's metadata document; over the network unless a test says otherwise.
        trusted_proxies: Whose X-Forwarded-For is believed; see `askers`.
    """

    def __init__(
        self,
        *,
        store: Store,
        keys: Keys,
        issuer: str,
        resource: str,
        owners: frozenset[str],
        now: Callable[[], float],
        fetch_document: FetchDocument | None = None,
        trusted_proxies: Sequence[str] = LOOPBACK,
    ) -> None:
        self.issuer = issuer
        self.resource = resource
        host = urlsplit(issuer).hostname
        loopback_host = host if host in LOOPBACK_HOSTS else None
        fetch = fetch_document or DocumentFetcher(loopback_host=loopback_host)
        self.gate = Gate(Askers(trusted_proxies, key=keys.derive("address tag")), store, now=now)
        documents = Documents(store, fetch, self.gate, loopback_host=loopback_host, now=now)
        self.clients = Clients(store, documents, SealedIds(keys), self.gate, now=now)
        self.grants = Grants(store, now=now)
        self.tokens = Tokens(store, self.grants, owners=owners, now=now)
        self.codes = Codes(store, self.grants, self.tokens, owners=owners, now=now)
        self.verifier = Verifier(self.tokens, resource=resource, owners=owners, now=now)
        rooms = Rooms(self.clients, self.codes, self.tokens, self.grants, Resource(resource))
        self.authorizations = Authorizations(rooms, issuer=issuer)
        self._endpoints = Endpoints(rooms, Bridge(), self.gate, issuer=issuer)

    def routes(self) -> list[BaseRoute]:
        """Return the routes of /token, /revoke, /register and /.well-known."""
        return [*self._endpoints.routes(), *metadata_routes(self.issuer, self.resource)]
