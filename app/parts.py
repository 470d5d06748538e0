"""What one process is made of: every part built once, from settings to sources, and handed what it needs.

Nothing outside is asked here; `main` does that, and closes. Commands that do not serve (`vitals disconnect`) use the
same parts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import httpx2

from app import __version__
from app.authserver.cimd import FetchDocument
from app.authserver.server import AuthServer
from app.settings import Settings
from app.settings.secret_key import kept_in
from app.sources.oura.oauth import OuraOAuth
from app.sources.oura.source import OuraSource
from app.sources.registry import Sources
from app.store.base import Store
from app.store.crypto import Keys
from app.store.opening import choose_store
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
    store = store or choose_store(data_dir=settings.data_dir, redis_url=redis_url, now=now)
    now = store.now  # what one machine writes, another reads: all of them go by one clock
    secrets = [key.get_secret_value() for key in settings.secret_key] or [kept_in(settings.data_dir)]
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
        sandbox=settings.oura_sandbox,
        now=now,
    )
    authserver = AuthServer(
        store=store,
        issuer=settings.public_url,
        keys=keys,
        resource=settings.resource,
        owners=frozenset(settings.owners),
        now=now,
        fetch_document=fetch_document,
    )
        trusted_proxies=settings.forwarded_allow_ips,
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


def outgoing(*, keep_alive: bool = True) -> httpx2.AsyncClient:
    """Return a client for calls to sources: no proxy from the environment, no redirect followed, bounded waits.

    Args:
        keep_alive: Keep connections for the next call, which saves a GET its round trips. Not for what is single-use:
            a kept connection that the other side is just closing cannot be told from an answer that was lost.
    """
    return httpx2.AsyncClient(
        trust_env=False,
        follow_redirects=False,
        http2=keep_alive and find_spec("h2") is not None,
        timeout=httpx2.Timeout(20, connect=5, pool=15),
        limits=httpx2.Limits(
            max_connections=32, max_keepalive_connections=16 if keep_alive else 0, keepalive_expiry=60
        ),
        headers={"user-agent": f"vitals/{__version__}"},
    )
