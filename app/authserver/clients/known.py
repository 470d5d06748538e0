"""Apps that may ask: registered ones in the store, and those whose client_id is the address of their document.

Anyone may register, so a client that nobody uses is forgotten after a day; one that an owner connected stays as long as
it comes back. Records of unused ones are few (`allowances.CLIENT_RECORDS`): a client beyond them is not written down
but held by its own id (`sealed_ids`), so nobody is refused and nobody pushed out.
"""

import secrets
from collections.abc import Callable
from string import ascii_letters, digits

from app.authserver.clients.cimd import Documents
from app.authserver.clients.registration import Registration
from app.authserver.clients.sealed_ids import MAX_CHARS, PREFIX, SealedIds
from app.authserver.limits.allowances import CLIENT_RECORDS
from app.authserver.limits.askers import Asker
from app.authserver.limits.gate import Gate
from app.authserver.records import Client, from_json, to_json, token_hash
from app.errors import TooManyRequests
from app.store.base import Store

UNUSED_LIFE_S = 24 * 3600.0
USED_LIFE_S = 90 * 24 * 3600.0  # must exceed a grant's life: a grant whose client is gone could not be refreshed

_ID_PREFIX, _SECRET_PREFIX = "vc_", "vcs_"  # an id of ours can never be taken for a document's address
_TOO_LONG = (
    "Within a day more apps registered than this server writes down. Until that day ends it takes those whose name and "
    "redirect URIs fit into a client_id, some 900 characters in all, and yours are longer. Fewer or shorter ones are "
    "registered at once."
)
_ID_CHARACTERS = frozenset(ascii_letters + digits + "-_")


class Clients:
    """Finds, registers and keeps clients."""

    def __init__(
        self, store: Store, documents: Documents, sealed: SealedIds, gate: Gate, *, now: Callable[[], float]
    ) -> None:
        self._store = store
        self._documents = documents
        self._sealed = sealed
        self._gate = gate
        self._now = now

    async def find(self, client_id: str, *, asker: Asker | None = None) -> Client | None:
        """Return the client, or None if it never registered here or was forgotten.

        Args:
            client_id: Its id.
            asker: Who names it, if that is a stranger yet: to look at an address that anyone may name is counted.

        Raises:
            BadDocument: The client_id is an address, and what is there describes no client that is served here.
            TooManyRequests: This asker had too many addresses looked at.
        """
        if self._documents.claims(client_id):
            return await self._documents.find(client_id, asker=asker)
        if not client_id or len(client_id) > MAX_CHARS or not _ID_CHARACTERS.issuperset(client_id):
            return None
        raw = await self._store.get(_key(client_id))
        if raw is not None:
            return from_json(Client, raw)
        held = self._sealed.open(client_id) if client_id.startswith(PREFIX) else None
        return held if held is not None and self._now() < held.created_at + UNUSED_LIFE_S else None

    async def register(self, wanted: Registration) -> tuple[Client, str | None]:
        """Register a client; return it and its secret, which is None for a public client and is never shown again.

        Raises:
            TooManyRequests: Too many registered today to write it down, and it is too long to be held by its id.
        """
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
        if await self._gate.spend(CLIENT_RECORDS):
            await self._store.put(_key(client.client_id), to_json(client), ttl_s=UNUSED_LIFE_S)
            return client, secret
        held = self._sealed.seal(client)
        if held is None:
            raise TooManyRequests(_TOO_LONG, retry_after_s=await self._gate.renewed_in_s(CLIENT_RECORDS))
        return held, secret

    async def keep(self, client: Client) -> None:
        """Note that an owner's grant uses this client, so it is remembered for another `USED_LIFE_S`."""
        if client.document:
            await self._documents.keep(client)
        else:
            key = _key(client.client_id)  # as it is stored, which may be more than this version knows of it
            await self._store.put(key, await self._store.get(key) or to_json(client), ttl_s=USED_LIFE_S)


def _key(client_id: str) -> str:
    return f"client:{token_hash(client_id) if client_id.startswith(PREFIX) else client_id}"
