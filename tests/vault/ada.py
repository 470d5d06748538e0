"""An owner, her app and the keys under which her records are sealed. Light: worker processes import it too."""

from app.identity import Caller
from app.store.crypto import Keys

KEYS = Keys([b"a secret of thirty-two bytes or more"])
RECONNECT = "https://vitals.example/connections"
ADA = Caller(owner="oada", grant="g1", client_id="c1", scopes=frozenset({"health:read"}))
