"""One figure of the report, and how several measurements become one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A ratio, what it is to be held against, and the numbers it was made of."""

    name: str
    value: float
    unit: str  # "x", "MB", "ms"
    aim: str  # "at least 8", in words, since some aims are upper and some lower bounds
    reached: bool | None  # None: no aim, only said
    details: str

    def line(self) -> str:
        """Return the line that is printed."""
        verdict = "" if self.reached is None else "  ok  " if self.reached else "  MISSED  "
        aim = f" (aim: {self.aim})" if self.aim else ""
        return f"{self.name}: {self.value:.2f} {self.unit}{aim}{verdict or '  '}[{self.details}]"


def at_least(name: str, value: float, bound: float, details: str, unit: str = "x") -> Figure:
    """Make a figure that is to be large."""
    return Figure(name, value, unit, f"at least {bound:g}", value >= bound, details)


def at_most(name: str, value: float, bound: float, details: str, unit: str = "x") -> Figure:
    """Make a figure that is to be small."""
    return Figure(name, value, unit, f"at most {bound:g}", value <= bound, details)


def said(name: str, value: float, details: str, unit: str = "x") -> Figure:
    """Make a figure without an aim."""
    return Figure(name, value, unit, "", None, details)
