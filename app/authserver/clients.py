"""Apps that may ask: registered ones in the store, and those whose client_id is the address of their document.

Anyone may register, so a client that nobody uses is forgotten after a day; one that an owner connected stays as long as
it comes back.
"""

import secrets
from collections.abc import Callable, Mapping
from string import ascii_letters, digits

from app.authserver.cimd import Documents
from app.authserver.records import Client, from_json, to_json, token_hash
from app.authserver.registration import settle
from app.store.base import Store

UNUSED_LIFE_S = 24 * 3600.0
USED_LIFE_S = 90 * 24 * 3600.0  # must exceed a grant's life: a grant whose client is gone could not be refreshed

_ID_PREFIX, _SECRET_PREFIX = "vc_", "vcs_"  # an id of ours can never be taken for a document's address
_ID_MAX_CHARS = 64
_ID_CHARACTERS = frozenset(ascii_letters + digits + "-_")


class Clients:
    """Finds, registers and keeps clients."""

    def __init__(self, store: Store, documents: Documents, *, now: Callable[[], float]) -> None:
        self._store = store
        self._documents = documents
        self._now = now

    async def find(self, client_id: str) -> Client | None:
        """Return the client, or None if it never registered here or was forgotten.

        Raises:
            BadDocument: The client_id is an address, and what is there describes no client that is served here.
        """
        if self._documents.claims(client_id):
            return await self._documents.find(client_id)
        if not client_id or len(client_id) > _ID_MAX_CHARS or not _ID_CHARACTERS.issuperset(client_id):
            return None
        raw = await self._store.get(_key(client_id))
        return None if raw is None else from_json(Client, raw)

    async def register(self, metadata: Mapping[str, object]) -> tuple[Client, str | None]:
        """Register a client; return it and its secret, which is None for a public client and is never shown again.

        Raises:
            BadMetadata: It may not register.
        """
        wanted = settle(metadata)
        secret = None if wanted.auth_method == "none" else _SECRET_PREFIX + secrets.token_urlsafe(32)
        client = Client(
            client_id=_ID_PREFIX + secrets.token_urlsafe(16),
            name=wanted.name,
            redirect_uris=wanted.redirect_uris,
            auth_method=wanted.auth_method,
            secret_hash=None if secret is None else token_hash(secret),
            document=False,
            created_at=self._now(),
        )
        await self._store.put(_key(client.client_id), to_json(client), ttl_s=UNUSED_LIFE_S)
        return client, secret

    async def keep(self, client: Client) -> None:
        """Note that an owner's grant uses this client, so it is remembered for another `USED_LIFE_S`."""
        if client.document:
            await self._documents.keep(client.client_id)
        else:
            key = _key(client.client_id)  # as it is stored, which may be more than this version knows of it
            await self._store.put(key, await self._store.get(key) or to_json(client), ttl_s=USED_LIFE_S)


def _key(client_id: str) -> str:
    return f"client:{client_id}"
