"""The installation's `SECRET_KEY`: what is too weak to be one, and the one that is made and kept in `DATA_DIR`."""

import errno
import itertools
import os
import re
import secrets
import shlex
import stat
from pathlib import Path

from app.errors import SettingsError

SHORTEST_BYTES = 32
FILE_NAME = "secret_key"

# Keys printed in other projects' documentation, which people copy.
_PUBLISHED = frozenset(
    {
        "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",
        "192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf",
        "your-256-bit-secret-your-256-bit-secret",
    }
)
_PLACEHOLDER = re.compile("changeme|changethis|default|example|insecure|password|placeholder|replace|secret")
_FEWEST_DISTINCT = 8  # 32 random hex digits have fewer than 9 different ones less than once in a million


def new_secret() -> str:
    """Return a fresh secret of 256 bits, as text without characters a shell or a file would mangle."""
    return secrets.token_urlsafe(32)


def weakness(secret: str) -> str | None:
    """Say in a few words why `secret` must not be used, or None if nothing speaks against it."""
    if len(secret.encode()) < SHORTEST_BYTES:
        return f"is shorter than {SHORTEST_BYTES} bytes"
    letters = re.sub(r"[^a-z0-9]", "", secret.casefold())
    if secret in _PUBLISHED or _PLACEHOLDER.search(letters):
        return "is a well-known or placeholder value"
    if len(set(secret)) < _FEWEST_DISTINCT or _repeats(secret) or _counts_up(secret):
        return "is a simple pattern, not a random value"
    return None


def _repeats(text: str) -> bool:
    """Tell whether the text is one piece written several times."""
    return text in (text + text)[1:-1]


def _counts_up(text: str) -> bool:
    """Tell whether more than half of the steps go to the next or previous character, as in `abcdefgh…`."""
    steps = [abs(ord(b) - ord(a)) <= 1 for a, b in itertools.pairwise(text)]
    return sum(steps) * 2 > len(steps)


def kept_in(data_dir: Path, *, store_file: str) -> str:
    """Return the secret kept in `data_dir`, making it (0600) if there is none yet.

    Any number of processes may start at once: the file appears whole or not at all, and all of them return the same.

    Args:
        data_dir: The folder.
        store_file: Name of the file in it that the secret seals. Whoever calls makes that one after the secret, so one
            without the other is a secret that was lost: a new one would hide that.

    Raises:
        SettingsError: The folder cannot be written, or the file is lost, readable by others or not a good secret.
    """
    path = data_dir / FILE_NAME
    try:
        sealed = (data_dir / store_file).exists()  # before the next line: another process may be making both just now
        if not path.exists():
            if sealed:
                raise SettingsError(
                    f"{FILE_NAME} is missing from DATA_DIR, and {store_file} there was sealed with it. Put it back "
                    f"from your copy, or set SECRET_KEY to what it held. If it is lost for good, move {store_file} "
                    "away, start vitals, and sign in again."
                )
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make(path)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise SettingsError(
                f"{FILE_NAME} in DATA_DIR is readable by others. Run: chmod 600 {shlex.quote(str(path.resolve()))}. Or "
                "set SECRET_KEY."
            )
        secret = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not text"
        raise SettingsError(
            f"{FILE_NAME} in DATA_DIR cannot be read or made ({why}). Make DATA_DIR a folder this user can write, "
            "for example DATA_DIR=/var/lib/vitals, or set SECRET_KEY."
        ) from None
    if why := weakness(secret):
        raise SettingsError(
            f"{FILE_NAME} in DATA_DIR {why}. Put it back from your copy. If it is lost for good, move it and "
            f"{store_file} away, start vitals, and sign in again."
        )
    return secret


def _make(path: Path) -> None:
    """Write a new secret under a name of our own, then give it the real name unless another process was first."""
    draft = path.with_name(f".{FILE_NAME}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(new_secret() + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # atomic, and fails where `rename` would overwrite the winner's file
    except OSError as exc:
        if exc.errno != errno.EEXIST:
            raise
    finally:
        draft.unlink()
