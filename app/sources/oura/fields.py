"""The kinds of fields that Oura's records are made of, so that the catalogue reads as a table."""

from app.sources.base import Field, Kind


def score(name: str, meaning: str) -> Field:
    """A grade from 1 to 100; higher is better, also where its name sounds like minutes or beats."""
    return Field(name, Kind.SCORE, None, meaning)


def measured(name: str, unit: str, meaning: str) -> Field:
    """A quantity with its unit."""
    return Field(name, Kind.MEASUREMENT, unit, meaning)


def word(name: str, meaning: str, *values: str) -> Field:
    """One of a few words; Oura adds new ones without notice."""
    return Field(name, Kind.CATEGORY, None, meaning, values)


def yes_no(name: str, meaning: str) -> Field:
    """True or false."""
    return Field(name, Kind.CATEGORY, None, meaning, ("true", "false"))


def text(name: str, meaning: str) -> Field:
    """Words, in particular the owner's own."""
    return Field(name, Kind.TEXT, None, meaning)


def time(name: str, meaning: str) -> Field:
    """An instant with its offset, or a day."""
    return Field(name, Kind.TIME, None, meaning)


def code(name: str, meaning: str) -> Field:
    """What tells one thing from another."""
    return Field(name, Kind.ID, None, meaning)


def digits(name: str, every_s: int, meaning: str) -> Field:
    """A string with one digit per `every_s` seconds."""
    return Field(name, Kind.SERIES, f"one digit per {every_s} s", meaning)


def samples(name: str, unit: str, meaning: str) -> tuple[Field, ...]:
    """A run of evenly spaced samples; an item may be null where nothing was measured."""
    return (
        Field(name, Kind.SERIES, unit, meaning),
        Field(f"{name}.interval", Kind.MEASUREMENT, "s", "time between two items"),
        Field(f"{name}.items", Kind.SERIES, unit, "the samples, oldest first; null: not measured"),
        Field(f"{name}.timestamp", Kind.TIME, None, "when the first item was taken, with the wearer's offset"),
    )


# What every stream of samples carries, and what has to be said about it.
SAMPLED = (
    time("timestamp", "when it was measured, in UTC"),
    Field("timestamp_unix", Kind.TIME, "ms since 1970", "the same; missing from some rows"),
)
IN_UTC = (
    "`timestamp` is in UTC, not the owner's clock; the `start` of a bucket has the offset of the answer's timezone. "
    "Without a sample there is no bucket: not measured, not zero."
)

ID = code("id", "tells this record from others")
RESTING = "In rest mode it is not scored as usual; rest_mode_period has when it was on."

READINESS_CONTRIBUTORS = (
    ("activity_balance", "how recent activity compares with the longer run"),
    ("body_temperature", "how near the night's skin temperature was to the usual one"),
    ("hrv_balance", "how recent heart rate variability compares with the longer run; a score, not ms"),
    ("previous_day_activity", "how yesterday's activity bears on today"),
    ("previous_night", "how last night's sleep bears on today"),
    ("recovery_index", "how early in the night the heart rate settled; a score, not hours"),
    ("resting_heart_rate", "how the night's resting heart rate compares with the usual one; a score, not bpm"),
    ("sleep_balance", "how recent sleep compares with the need over two weeks"),
    ("sleep_regularity", "how steady bedtimes and wake times have been"),
)


def contributors(parts: tuple[tuple[str, str], ...], *, under: str = "contributors") -> tuple[Field, ...]:
    """The graded parts of a score."""
    return tuple(score(f"{under}.{name}", meaning) for name, meaning in parts)
