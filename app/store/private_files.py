"""Files that hold the owner's sign-in belong to one user: what others could read is refused, not quietly closed.

Whoever could read a file may have read it; that is for its owner to know. The folder may be readable (the root of a
mounted volume often is, and belongs to root): what is in the files counts. It must not be writable by everybody, or
others could put files of theirs in place of ours.
"""

import shlex
import stat
from pathlib import Path

from app.errors import StoreUnavailable


def refuse_open_to_others(path: Path) -> None:
    """Check the file, what SQLite keeps beside it, and the folder, as far as they exist.

    Raises:
        StoreUnavailable: Others have access; the text says which command ends it.
        OSError: It cannot be looked at.
    """
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        mode = _mode(path.with_name(name))
        if mode is not None and mode & 0o077:
            raise StoreUnavailable(
                f"{name} in DATA_DIR can be read by other users (mode {mode:04o}). Run: "
                f"{command('600', path.with_name(name))}. Where chmod changes nothing (a Windows or network drive), "
                "choose another DATA_DIR.",
                outage="unusable",
            )
    folder = _mode(path.parent)
    if folder is not None and folder & stat.S_IWOTH and not folder & stat.S_ISVTX:
        raise StoreUnavailable(
            f"DATA_DIR can be written by every user (mode {folder:04o}). Run: {command('o-w', path.parent)}. Or "
            "set DATA_DIR to a new folder inside it, which vitals then makes for itself.",
            outage="unusable",
        )


def command(mode: str, path: Path) -> str:
    """Return the line that mends it, to be pasted."""
    return f"chmod {mode} {shlex.quote(str(path.resolve()))}"


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
