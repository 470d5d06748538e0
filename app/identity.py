"""Who is asking. A `Caller` is the first argument of whatever touches a person's data."""

import hashlib
from dataclasses import dataclass

SANDBOX_OWNER = "sandbox"
READ_SCOPE = "health:read"
CALLER = "vitals.caller"  # where the ASGI scope carries the `Caller`, from `web.bearer` to `tools.calling`


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated request: the owner it speaks for and the grant that lets it."""

    owner: str  # an owner key, see `owner_key`
    grant: str  # id of the grant the owner gave the app
    client_id: str
    scopes: frozenset[str]
    ticked: frozenset[str] | None = None  # scopes of the source that the owner gave this app; None: as far as they go


def normalise_email(address: str) -> str:
    """Trim an address and write it in small letters, the way `OURA_OWNER_EMAIL` is compared.

    Two addresses that are different mailboxes must stay different. `casefold` makes "straße" and "strasse" one, and
    even `lower` turns the Kelvin sign into a "k", so no letter outside ASCII may become one inside.
    """
    return "".join(char.lower() if char.isascii() == char.lower().isascii() else char for char in address.strip())


def owner_key(email: str) -> str:
    """Name an owner in store keys and logs without writing the address down.

    Derived from the address alone, so that removing it from `OURA_OWNER_EMAIL` shuts the owner's grants out at once.
    """
    return "o" + hashlib.sha256(b"vitals owner\0" + normalise_email(email).encode()).hexdigest()[:31]
