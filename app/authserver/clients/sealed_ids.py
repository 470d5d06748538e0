"""Client ids that hold the registration themselves, sealed: the client is known, and nothing is written down.

Used for registrations beyond the budget of records, so that any number of them leaves the store as it was and drives
nobody out. Their ids are some hundred characters long, so that ordinary days do without them. What an owner then
connects becomes a record like any other.

Source: RFC 7591 appendix A.5.2, stateless client registration; RFC 6749 section 2.2, no size of a client_id is assumed.
"""

import base64
import binascii
from dataclasses import replace

import orjson

from app.authserver.records import Client
from app.errors import SealBroken
from app.store.crypto import Keys

PREFIX = "vci_"
MAX_CHARS = 1500  # it travels in addresses, beside a `state` of up to 4,096; those of known apps have 130 to 350
_NAME = "client"


class SealedIds:
    """Makes and reads such ids."""

    def __init__(self, keys: Keys) -> None:
        self._sealer = keys.sealer("client id")

    def seal(self, client: Client) -> Client | None:
        """Return the client under an id that holds it; None if it is too long for that."""
        held = [client.name, client.redirect_uris, client.auth_method, client.secret_hash, client.created_at]
        sealed = self._sealer.seal(orjson.dumps(held), bound_to=_NAME)
        client_id = PREFIX + _text(sealed)
        return replace(client, client_id=client_id) if len(client_id) <= MAX_CHARS else None

    def open(self, client_id: str) -> Client | None:
        """Return the client that an id holds; None if it is not one of ours, or its key is gone."""
        text = client_id.removeprefix(PREFIX)
        try:
            sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            if _text(sealed) != text:  # a last letter may vary without changing a byte; one client has one id
                return None
            name, uris, method, secret_hash, created_at = orjson.loads(self._sealer.open(sealed, bound_to=_NAME))
        except (binascii.Error, ValueError, SealBroken):
            return None
        return Client(client_id, name, tuple(uris), method, secret_hash, False, created_at)


def _text(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
