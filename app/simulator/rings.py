"""The rings the owner ever set up, oldest first, and who the owner is."""

from datetime import UTC, datetime

from app.simulator.world import Dated, Record, World

_RINGS: tuple[tuple[str, Record], ...] = (
    (
        "2018-11-24T10:31:00+00:00",
        {
            "color": "stealth_black",
            "design": "balance",
            "firmware_version": "1.36.3",
            "hardware_type": "gen2",
            "size": 9,
        },
    ),
    (
        "2021-12-27T18:02:00+00:00",
        {"color": "silver", "design": "heritage", "firmware_version": "2.11.9", "hardware_type": "gen3", "size": 9},
    ),
    (
        "2025-01-05T09:12:00+00:00",
        {"color": None, "design": None, "firmware_version": "3.4.2", "hardware_type": "gen4", "size": 8},
    ),
)


def ring_configuration(world: World) -> list[Dated]:
    """Return every ring, also those no longer worn."""
    found = []
    for index, (set_up_at, ring) in enumerate(_RINGS):
        when = datetime.fromisoformat(set_up_at).astimezone(UTC)
        ident = world.ident("ring_configuration", when.date(), index)
        found.append(Dated(when.timestamp(), {"id": ident} | ring | {"set_up_at": set_up_at}))
    return found


def personal_info(world: World, scopes: frozenset[str]) -> Record:
    """Return the profile: `id` always, the email with `email`, everything else with `personal`."""
    person = world.person
    personal = "personal" in scopes
    return {
        "id": person.account_id,
        "age": person.age if personal else None,
        "weight": person.weight_kg if personal else None,
        "height": person.height_m if personal else None,
        "biological_sex": person.biological_sex if personal else None,
        "email": person.email if "email" in scopes else None,
    }
