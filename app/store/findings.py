"""What whoever runs this server should know about its store: said at the start, and by the doctor."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["good", "unknown", "warning", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `unknown` is for the doctor alone: nothing was found wrong. A `warning` is also written to the log at the start.
    """

    level: Level
    text: str
