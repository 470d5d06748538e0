"""What one process is made of: every part built once, from settings to sources, and handed what it needs.

Nothing outside is asked here; `main` does that, and closes. Commands that do not serve (`vitals disconnect`) use the
same parts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from app.authserver.clients.cimd import FetchDocument
from app.authserver.server import AuthServer
from app.settings import Settings
from app.settings.secret_key import kept_in
from app.sources.oura.oauth import OuraOAuth
from app.sources.oura.source import OuraSource
from app.sources.outgoing import outgoing
from app.sources.registry import Sources
from app.store.base import Store
from app.store.crypto import Keys
from app.store.opening import FILE_NAME, choose_store
from app.vault.connections import Connections
from app.vault.rotation import Rotation


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one process."""

    settings: Settings
    now: Callable[[], float]
    http: httpx2.AsyncClient  # questions to sources
    token_http: httpx2.AsyncClient  # what is spent by asking
    store: Store
    keys: Keys
    connections: Connections
    oauth: OuraOAuth
    rotation: Rotation
    sources: Sources
    authserver: AuthServer

    def stopping(self) -> None:
        """Know that the process was told to stop: what is under way ends within seconds, and well."""
        self.rotation.stop()
        for source in self.sources:
            source.end()

    async def aclose(self) -> None:
        """Give back connections, when nothing is under way any more."""
        await self.http.aclose()
        await self.token_http.aclose()
        await self.store.aclose()


def build_parts(
    settings: Settings,
    *,
    now: Callable[[], float],
    http: httpx2.AsyncClient | None = None,
    store: Store | None = None,
    fetch_document: FetchDocument | None = None,
) -> Parts:
    """Build every part.

    Args:
        settings: As read at the start.
        now: Unix seconds on this machine; the store may know better.
        http: Used for every call to a source; None makes one for questions and one for tokens.
        store: None chooses what the settings name.
        fetch_document: Fetches the metadata document of an app; None goes over the network, with every check.

    Raises:
        SettingsError: The kept key or the store's address cannot be used.
        StoreUnavailable: The store's file cannot be opened.
    """
    token_http = http or outgoing(keep_alive=False)
    http = http or outgoing()
    redis_url = settings.redis_url.get_secret_value() or None
    secrets = [key.get_secret_value() for key in settings.secret_key]
    if not secrets:  # before the store, whose file must not be there without it
        secrets = [kept_in(settings.data_dir, store_file=FILE_NAME)]
    store = store or choose_store(data_dir=settings.data_dir, redis_url=redis_url, now=now)
    now = store.now  # what one machine writes, another reads: all of them go by one clock
    keys = Keys([secret.encode() for secret in secrets])
    connections = Connections(store, keys)
    oauth = OuraOAuth(
        http=token_http,
        client_id=settings.oura_client_id,
        client_secret=settings.oura_client_secret.get_secret_value(),
        authorize_url=settings.oura_authorize_url,
        token_urls=settings.oura_token_urls,
        revoke_urls=settings.oura_revoke_urls,
        scopes=settings.oura_scopes,
        redirect_uri=settings.redirect_uri,
    )
    rotation = Rotation(
        connections=connections,
        store=store,
        endpoint=oauth,
        now=now,
        reconnect_url=f"{settings.public_url}/connections",
    )
    oura = OuraSource(
        http=http,
        api_url=settings.oura_api_url,
        tokens=rotation,
        connections=connections,
        renewals=rotation,
        sandbox=settings.oura_sandbox,
        now=now,
    )
    authserver = AuthServer(
        store=store,
        keys=keys,
        issuer=settings.public_url,
        resource=settings.resource,
        owners=frozenset(settings.owners),
        now=now,
        fetch_document=fetch_document,
        trusted_proxies=settings.forwarded_allow_ips,
    )
    return Parts(
        settings=settings,
        now=now,
        http=http,
        token_http=token_http,
        store=store,
        keys=keys,
        connections=connections,
        oauth=oauth,
        rotation=rotation,
        sources=Sources([oura]),
        authserver=authserver,
    )
