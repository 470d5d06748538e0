"""The settings: read once, complete and sound, or not started. Only `main` and `cli` import this, and what they wire.

`model` says what there is and `reading` reads it out of `environment`; `addresses` and `secret_key` are longer rules.
"""

from app.settings.model import Settings
from app.settings.reading import NAMES, load_settings

__all__ = ["NAMES", "Settings", "load_settings"]
