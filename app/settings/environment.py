"""Reads values out of an environment mapping: each `NAME` itself, or the content of the file that `NAME_FILE` names.

Does not know what the names mean; `model` does.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from app.errors import SettingsError

_LONGEST_FILE_BYTES = 64 * 1024  # a wrong path (a disk image, a log) is refused, not read


def gather(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the value of each name that is set; an empty value counts as not set.

    Raises:
        SettingsError: Both `NAME` and `NAME_FILE` are set, or the file cannot be read.
    """
    values = {}
    for name in names:
        direct, path = environ.get(name, "").strip(), environ.get(f"{name}_FILE", "").strip()
        if direct and path:
            raise SettingsError(
                f"Both {name} and {name}_FILE are set. Keep one, for example {name}_FILE=/run/secrets/x."
            )
        if path:
            direct = _content(name, Path(path))
        if direct:
            values[name] = direct
    return values


def _content(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_LONGEST_FILE_BYTES + 1)
        text = raw.decode()
    except OSError as exc:
        raise SettingsError(f"{name}_FILE names a file that cannot be read ({exc.strerror}). {_FILE_ADVICE}") from exc
    except UnicodeDecodeError:
        # `from None`: the exception carries the bytes that were read.
        raise SettingsError(f"{name}_FILE names a file that is not text. {_FILE_ADVICE}") from None
    if len(raw) > _LONGEST_FILE_BYTES:
        raise SettingsError(f"{name}_FILE names a file of over 64 kB. {_FILE_ADVICE}")
    value = text.removesuffix("\n").removesuffix("\r")
    if not value.strip():
        raise SettingsError(f"{name}_FILE names an empty file. {_FILE_ADVICE}")
    return value


_FILE_ADVICE = "Point it at a readable file whose whole content is the value, for example /run/secrets/value."
