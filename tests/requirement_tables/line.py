"""One line of a table: a demand, and its test, its recorded gap, or why it is not ours to meet."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A demand of a document.

    `tests` are named as pytest names them. A line with a `gap` may name tests too: they show what is done instead.
    """

    id: str
    source: str
    link: str
    says: str  # in our own few words
    tests: tuple[str, ...] = ()
    gap: str = ""  # not met, or met otherwise than demanded, and why
    not_ours: str = ""  # does not apply, because …


@dataclass(frozen=True, slots=True)
class Source:
    """A document, and the lines made from it.

    Args:
        name: How people call it.
        short: In front of the ids.
        at: The address of a section, with `{}` where its number or anchor goes.
    """

    name: str
    short: str
    at: str

    def shown(self, section: str, key: str, says: str, *tests: str) -> Line:
        """Return the line of a demand that tests show to be met."""
        return self._line(section, key, says, tests=tests)

    def gap(self, section: str, key: str, says: str, why: str, *tests: str) -> Line:
        """Return the line of a demand that is not met to the letter."""
        return self._line(section, key, says, gap=why, tests=tests)

    def not_ours(self, section: str, key: str, says: str, why: str) -> Line:
        """Return the line of a demand on someone or something that we are or have not."""
        return self._line(section, key, says, not_ours=why)

    def _line(
        self, section: str, key: str, says: str, *, tests: tuple[str, ...] = (), gap: str = "", not_ours: str = ""
    ) -> Line:
        where = section.rpartition("#")[2]
        return Line(
            id=f"{self.short}-{where}-{key}",
            source=f"{self.name}, {where}",
            link=self.at.format(section),
            says=says,
            tests=tests,
            gap=gap,
            not_ours=not_ours,
        )
