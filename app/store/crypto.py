"""Sealing: AES-256-GCM under keys that HKDF-SHA256 derives, one per purpose, from `SECRET_KEY`.

A sealed record opens only under the same purpose and the same name, so one moved to another key of the store is noise.
The first secret seals; all of them open, which is how `SECRET_KEY` is changed without losing what is stored. The id of
the secret stands in front, so that one which was lost can be named.
"""

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.errors import SealBroken

# First byte of every sealed record: which layout. 1 carries no id: made of a token, or by an earlier version.
_BARE, _NAMED = b"\x01", b"\x02"
_ID_BYTES = 6
_NONCE_BYTES = 12  # NIST SP 800-38D, 5.2.1.1: 96 bits
_TAG_BYTES = 16
_KEY_BYTES = 32


class Sealer:
    """Seals and opens for one purpose. Made by `Keys.sealer` or `sealer_from_token`."""

    __slots__ = ("_ciphers", "_ids", "_purpose")

    def __init__(self, keys: Sequence[bytes], purpose: str, *, ids: Sequence[bytes] = ()) -> None:
        self._ciphers = tuple(AESGCM(key) for key in keys)
        self._ids = tuple(ids)  # one for each key, or none at all
        self._purpose = purpose.encode()

    def seal(self, plain: bytes, *, bound_to: str) -> bytes:
        """Encrypt `plain` under the first key, bound to the name of the record that will hold it."""
        nonce = os.urandom(_NONCE_BYTES)
        head = _NAMED + self._ids[0] if self._ids else _BARE
        return head + nonce + self._ciphers[0].encrypt(nonce, plain, self._associated(head, bound_to))

    def open(self, sealed: bytes, *, bound_to: str) -> bytes:
        """Decrypt what `seal` made for the same purpose and name.

        Raises:
            SealBroken: It is not ours, was changed or moved, or its key is gone.
        """
        head_bytes = len(_NAMED) + _ID_BYTES if sealed[:1] == _NAMED else len(_BARE)
        head, rest = sealed[:head_bytes], sealed[head_bytes:]
        if sealed[:1] not in {_BARE, _NAMED} or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            raise _damaged()
        nonce, box = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        # An id chooses nothing: there are two or three keys, a try costs microseconds, and whoever writes to the store
        # can write any id.
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, box, self._associated(head, bound_to))
            except InvalidTag:
                continue
        key_id = head[1:]
        raise _damaged() if key_id in self._ids else _locked(key_id.hex(), [each.hex() for each in self._ids])

    def _associated(self, head: bytes, bound_to: str) -> bytes:
        # The length in front keeps ("a", "bc") and ("ab", "c") apart.
        return head + len(self._purpose).to_bytes(2, "big") + self._purpose + bound_to.encode()


def _damaged() -> SealBroken:
    return SealBroken("A stored record does not open: it was changed, cut or moved. Restore the store from a copy.")


def _locked(missing: str, held: Sequence[str]) -> SealBroken:
    which = f"key {missing}" if missing else "a key whose id is not known"
    given = f" (it holds {', '.join(held)})" if held else ""
    return SealBroken(
        f"A stored record is sealed under {which}, which is not in SECRET_KEY{given}. Nothing was erased. "
        "Put the former key back into SECRET_KEY, after the new one and a comma.",
        missing=missing or None,
    )


class Keys:
    """What is derived from `SECRET_KEY`; the secrets themselves are used for nothing else."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Sequence[bytes]) -> None:
        if not secrets:
            raise ValueError("Keys needs at least one secret.")
        self._secrets = tuple(secrets)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the secrets, the sealing one first: enough to tell which one is missing, and nothing more."""
        return tuple(each.hex() for each in self._ids())

    def sealer(self, purpose: str) -> Sealer:
        """Return the sealer of one purpose ("connection", "signin" …)."""
        return Sealer(self.derive_all(purpose), purpose, ids=self._ids())

    def derive(self, purpose: str) -> bytes:
        """Return 32 bytes for this purpose, from the first secret."""
        return _derive(self._secrets[0], purpose)

    def derive_all(self, purpose: str) -> tuple[bytes, ...]:
        """Return 32 bytes for this purpose from each secret, the sealing one first."""
        return tuple(_derive(secret, purpose) for secret in self._secrets)

    def _ids(self) -> tuple[bytes, ...]:
        return tuple(each[:_ID_BYTES] for each in self.derive_all("key id"))


def sealer_from_token(token: str, purpose: str) -> Sealer:
    """Return a sealer whose key is known only to whoever holds `token`: the store alone cannot open its records."""
    return Sealer([_derive(token.encode(), f"token/{purpose}")], purpose)


def _derive(secret: bytes, purpose: str) -> bytes:
    # No salt: the secrets are random, not passwords (RFC 5869, 3.1). `info` separates the purposes (3.2).
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=b"vitals/1/" + purpose.encode()).derive(secret)
