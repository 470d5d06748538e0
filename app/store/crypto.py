"""Sealing: AES-256-GCM under keys that HKDF-SHA256 derives, one per purpose, from `SECRET_KEY`.

A sealed record opens only under the same purpose and the same name, so one moved to another key of the store is noise.
The first secret seals; all of them open, which is how `SECRET_KEY` is changed without losing what is stored.
"""

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.errors import SealBroken

_FORMAT = b"\x01"  # first byte of every sealed record; another layout or cipher takes another number
_NONCE_BYTES = 12  # NIST SP 800-38D, 5.2.1.1: 96 bits
_TAG_BYTES = 16
_KEY_BYTES = 32


class Sealer:
    """Seals and opens for one purpose. Made by `Keys.sealer` or `sealer_from_token`."""

    __slots__ = ("_ciphers", "_purpose")

    def __init__(self, keys: Sequence[bytes], purpose: str) -> None:
        self._ciphers = tuple(AESGCM(key) for key in keys)
        self._purpose = purpose.encode()

    def seal(self, plain: bytes, *, bound_to: str) -> bytes:
        """Encrypt `plain` under the first key, bound to the name of the record that will hold it."""
        nonce = os.urandom(_NONCE_BYTES)
        return _FORMAT + nonce + self._ciphers[0].encrypt(nonce, plain, self._associated(bound_to))

    def open(self, sealed: bytes, *, bound_to: str) -> bytes:
        """Decrypt what `seal` made for the same purpose and name.

        Raises:
            SealBroken: It is not ours, was changed or moved, or its key is gone.
        """
        if sealed[:1] == _FORMAT and len(sealed) >= len(_FORMAT) + _NONCE_BYTES + _TAG_BYTES:
            nonce, box = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
            # No key id is stored: there are two or three keys, and a try costs microseconds.
            for cipher in self._ciphers:
                try:
                    return cipher.decrypt(nonce, box, self._associated(bound_to))
                except InvalidTag:
                    continue
        raise SealBroken(
            "A stored record does not open: it was changed, or SECRET_KEY was. "
            "Put the former key back into SECRET_KEY, after the new one and a comma."
        )

    def _associated(self, bound_to: str) -> bytes:
        # The length in front keeps ("a", "bc") and ("ab", "c") apart.
        return _FORMAT + len(self._purpose).to_bytes(2, "big") + self._purpose + bound_to.encode()


class Keys:
    """What is derived from `SECRET_KEY`; the secrets themselves are used for nothing else."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Sequence[bytes]) -> None:
        if not secrets:
            raise ValueError("Keys needs at least one secret.")
        self._secrets = tuple(secrets)

    def sealer(self, purpose: str) -> Sealer:
        """Return the sealer of one purpose ("connection", "signin" …)."""
        return Sealer(self.derive_all(purpose), purpose)

    def derive(self, purpose: str) -> bytes:
        """Return 32 bytes for this purpose, from the first secret."""
        return _derive(self._secrets[0], purpose)

    def derive_all(self, purpose: str) -> tuple[bytes, ...]:
        """Return 32 bytes for this purpose from each secret, the sealing one first."""
        return tuple(_derive(secret, purpose) for secret in self._secrets)


def sealer_from_token(token: str, purpose: str) -> Sealer:
    """Return a sealer whose key is known only to whoever holds `token`: the store alone cannot open its records."""
    return Sealer([_derive(token.encode(), f"token/{purpose}")], purpose)


def _derive(secret: bytes, purpose: str) -> bytes:
    # No salt: the secrets are random, not passwords (RFC 5869, 3.1). `info` separates the purposes (3.2).
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=b"vitals/1/" + purpose.encode()).derive(secret)
