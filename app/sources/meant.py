"""Which collections a wrong name may mean, from the catalogue's own words: names of fields, what is said of them.

Models ask for what people speak of (`steps`, `sleep score`, `hrv`), and that is more often a field than a collection.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.sources.base import Collection, Field, Kind

_MOST = 3  # collections
_MOST_FIELDS = 3  # of each
_LONGEST = 60  # characters of a name that are looked at
_NAME, _CARRIES, _MEANING = 3.0, 1.5, 1.0  # what a word counts for by where it stands
_EXTRA = 0.75  # less for each word of a field's name that was not asked for
_PHRASE = 3.0  # more if what is said of the collection, or of the field, has the same words in a row
_GRADE = 3.0  # less for a score when none was asked for: contributors are named after what they grade
_SILENT = frozenset({"my", "the", "of", "a", "an", "and", "per", "in", "data", "oura"})
_WORDS = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Meant:
    """A collection that may be meant, and the fields that are why."""

    collection: Collection
    fields: tuple[Field, ...] = ()

    def __str__(self) -> str:
        if not self.fields:
            return f"{self.collection.qualified} ({self.collection.carries.rstrip('.')})"
        names = ", ".join(f"{one.name}, a score" if _disguised(one) else one.name for one in self.fields)
        return f"{self.collection.qualified} (fields: {names})"


def meant(name: str, collections: Sequence[Collection]) -> list[Meant]:
    """Return what a wrong name may mean, the likeliest first; nothing if no word of it is known here."""
    wanted = tuple(dict.fromkeys(word for word in _words(name[:_LONGEST]) if word not in _SILENT))
    if not wanted:
        return []
    likely = _by_words(wanted, collections)
    return likely or _misspelt(name.casefold(), collections) or _by_words(wanted, collections, some=True)


def _by_words(wanted: tuple[str, ...], collections: Sequence[Collection], *, some: bool = False) -> list[Meant]:
    """Return what has all the words, or at least some."""
    same = [one for one in collections if "".join(_words(one.name)) == "".join(wanted)]
    found = sorted(
        ((max(each[0] for each in hits), hits, one) for one in collections if (hits := list(_hits(wanted, one, some)))),
        key=lambda scored: -scored[0],  # stable: alike as the catalogue has them
    )
    best = found[0][0] if found else 0.0
    likely = [_named(hits, one) for score, hits, one in found if score * 2 > best and one not in same]
    return [*(Meant(one) for one in same), *likely][:_MOST]


def _named(hits: list[tuple[float, Field | None]], collection: Collection) -> Meant:
    """Name the fields that fit best; none if what the collection is about fits better."""
    most = max(score for score, _ in hits)
    fields = [field for score, field in sorted(hits, key=lambda hit: -hit[0]) if field and score + _EXTRA >= most]
    return Meant(collection, tuple(fields[:_MOST_FIELDS]))


def _hits(wanted: tuple[str, ...], collection: Collection, some: bool) -> Iterator[tuple[float, Field | None]]:
    """Yield how well the collection and each of its fields fit, as far as all words are found, or some."""
    enough = any if some else all
    name, carries = frozenset(_words(collection.name)), _words(collection.carries)
    about = dict.fromkeys(carries, _CARRIES) | dict.fromkeys(name, _NAME - _EXTRA)
    said = _PHRASE if _phrase(wanted, carries) else 0.0
    if enough(word in about for word in wanted):
        yield sum(about.get(word, 0.0) for word in wanted) + said, None
    for field in collection.fields:
        if any(field.name.startswith(f"{series}.") for series in collection.series):
            continue  # the series itself is named
        own, meaning = _words(field.name), _words(f"{field.meaning} {' '.join(field.values)}")
        if field.kind in (Kind.TIME, Kind.ID):
            meaning = ()  # "the day of the note" holds no note
        weights = {**dict.fromkeys(meaning, _MEANING), **about, **dict.fromkeys(own, _NAME)}
        if not any(word in own or word in meaning for word in wanted) or not enough(word in weights for word in wanted):
            continue
        score = sum(weights.get(word, 0.0) for word in wanted) - _EXTRA * len(set(own) - set(wanted))
        begins = meaning[: len(wanted)] == wanted  # it is that, rather than has to do with it
        score += max(said, _PHRASE if begins else _PHRASE / 2 if _phrase(wanted, meaning) else 0.0)
        yield score - (_GRADE if _disguised(field) and "score" not in wanted else 0.0), field


def _disguised(field: Field) -> bool:
    """Whether it is a score under the name of something else."""
    return field.kind is Kind.SCORE and not field.name.endswith("score")


def _phrase(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def _misspelt(name: str, collections: Sequence[Collection]) -> list[Meant]:
    spelled = {spelling.casefold(): one for one in collections for spelling in (one.name, one.qualified)}
    close = difflib.get_close_matches(name[:_LONGEST], spelled, n=_MOST, cutoff=0.5)
    return [Meant(one) for one in dict.fromkeys(spelled[match] for match in close)]


@lru_cache(maxsize=1024)  # the catalogue's own texts, some hundreds
def _words_kept(text: str) -> tuple[str, ...]:
    return tuple(_singular(word) for word in _WORDS.findall(text))


def _words(text: str) -> tuple[str, ...]:
    return _words_kept(text.casefold())


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
