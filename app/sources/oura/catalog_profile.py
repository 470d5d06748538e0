"""Oura's collections about the owner and the ring."""

from collections.abc import Set as AbstractSet
from typing import Final

from app.sources.base import Collection, DateKind, Record
from app.sources.oura.fields import ID, IN_UTC, SAMPLED, code, measured, time, word, yes_no

PERSONAL_INFO: Final = Collection(
    source="oura",
    name="personal_info",
    carries="The owner's profile: age, weight, height, sex, email.",
    date_kind=DateKind.UNDATED,
    scope="personal",
    also_scopes=frozenset({"email"}),  # then it carries the address alone; the id needs no scope
    takes_fields=False,
    fields=(
        ID,
        measured("age", "years", "age"),
        measured("weight", "kg", "weight as entered in the app"),
        measured("height", "m", "height as entered in the app; metres, not centimetres"),
        word("biological_sex", "as entered in the app", "male", "female"),
        code("email", "address of the Oura account; only with the scope `email`"),
    ),
    day_fields=(),
    notes=(
        "As entered by the owner, whenever that was: there is no date.",
        "Null: not entered, or its scope is missing.",
    ),
)


def profile_for(record: Record, scopes: AbstractSet[str]) -> Record:
    """Return the profile as Oura gives it with these scopes: null for what none of them opens.

    The token of the sign-in opens what was ticked for any app; this app may have been given less.
    """
    opened = {"id", *(("email",) if "email" in scopes else ())}
    if "personal" in scopes:
        opened |= record.keys() - {"email"}
    return {name: value if name in opened else None for name, value in record.items()}


RING_CONFIGURATION: Final = Collection(
    source="oura",
    name="ring_configuration",
    carries="Every ring ever set up: model, size, colour, firmware.",
    date_kind=DateKind.UNDATED,
    scope="ring_configuration",
    fields=(
        ID,
        time("set_up_at", "when it was set up, in UTC"),
        word("hardware_type", "generation", "gen1", "gen2", "gen2m", "gen3", "gen4", "or5"),
        word("design", "shape", "heritage", "balance", "balance_diamond", "horizon", "ceramic"),
        word(
            "color",
            "colour",
            "brushed_silver",
            "glossy_black",
            "glossy_gold",
            "glossy_white",
            "gucci",
            "matt_gold",
            "rose",
            "silver",
            "stealth_black",
            "titanium",
            "titanium_and_gold",
            "cloud",
            "petal",
            "midnight",
            "tide",
            "deep_rose",
        ),
        code("firmware_version", "version of the ring's software"),
        measured("size", "US ring size", "size"),
    ),
    day_fields=(),
    stamp_fields=("set_up_at",),
    notes=("Oldest first, former rings too: the current one has the newest set_up_at.",),
)

RING_BATTERY_LEVEL: Final = Collection(
    source="oura",
    name="ring_battery_level",
    carries="The ring's battery over time.",
    date_kind=DateKind.INSTANT,
    scope="ring_configuration",
    fields=(
        *SAMPLED,
        measured("level", "%", "charge"),
        yes_no("charging", "being charged"),
        yes_no("in_charger", "lying in the charger, so not worn"),
    ),
    dense=True,
    grows=True,
    day_fields=("timestamp",),
    stamp_fields=("timestamp",),
    window_days=30,  # assumed the same as for heart rate; nobody has measured it
    notes=("For the charge right now ask for `latest`.", IN_UTC),
)

PROFILE: Final = (PERSONAL_INFO, RING_CONFIGURATION, RING_BATTERY_LEVEL)
