"""The owner's data in plain words: what the consent page says will be read, and what each of Oura's scopes unlocks."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the owner's data, as a person would name it."""

    name: str
    carries: str
    scopes: tuple[str, ...]  # Oura's names, bare


# Source: oura/FACTS.md section 1, "Scopes: names and what each unlocks".
AREAS = (
    Area("Sleep", "nights and naps, stages, breathing rate, bedtimes, sleep scores", ("daily",)),
    Area("Readiness and recovery", "readiness scores, body temperature deviation, rest mode", ("daily",)),
    Area("Activity", "steps, calories, active and inactive time", ("daily",)),
    Area("Heart rate", "around the clock, every few minutes", ("heartrate",)),
    Area("Heart health", "cardiovascular age and VO₂ max", ("heart_health",)),
    Area("Blood oxygen", "nightly averages and breathing disturbance", ("spo2",)),
    Area("Stress", "stressful and restful time of a day", ("daily",)),
    Area("Resilience", "resilience level and what it is made of", ("stress",)),
    Area("Workouts", "kind, time, distance, energy", ("workout",)),
    Area("Sessions", "meditation, breathing and rest sessions with heart rate", ("session",)),
    Area("Tags", "what you noted yourself, in your own words", ("tag",)),
    Area("Profile", "age, weight, height, biological sex", ("personal",)),
    Area("Email address", "this connector needs it to know you; the app can read it too", ("email",)),
    Area("Ring", "model, size, colour, firmware, battery", ("ring_configuration",)),
)


def asked_for(scopes: AbstractSet[str]) -> tuple[Area, ...]:
    """Return the areas that a sign-in with these of Oura's scopes can open."""
    return tuple(area for area in AREAS if not scopes.isdisjoint(area.scopes))


def unlocked_by(scope: str) -> str:
    """Name what one of Oura's scopes unlocks, in plain words; empty for a scope we know nothing about."""
    return ", ".join(area.name for area in AREAS if scope in area.scopes)
