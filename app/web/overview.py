"""What `/connections` shows, in words: pure, from records to rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from app.authserver.owner.areas import unlocked_by
from app.authserver.owner.consent import destination, plain_name
from app.authserver.records import Grant
from app.vault.connections import Connection

_ENDED = {
    "refused": "Oura no longer accepts it: it was removed at Oura, or replaced by a newer sign-in.",
    "interrupted": "A renewal was interrupted after Oura had been asked, and the answer is lost.",
    None: "It has ended.",
}


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """The connection to Oura, as the owner reads it."""

    state: str  # "live", "ended", "none"
    why: str | None
    renewed: str | None
    granted: tuple[tuple[str, str], ...]  # scope, what it unlocks
    missing: tuple[tuple[str, str], ...]
    scopes_known: bool


@dataclass(frozen=True, slots=True)
class AppRow:
    """One app, as the owner reads it."""

    grant_id: str
    name: str
    goes_to: str
    approved: str
    refreshed: str | None


def connection_view(connection: Connection | None, asked: Sequence[str], zone: str | None) -> ConnectionView:
    """Describe a connection.

    Args:
        connection: None when there is none.
        asked: The scopes that a sign-in asks for, so that what is missing can be named.
        zone: IANA name; None for UTC.
    """
    if connection is None:
        return ConnectionView("none", None, None, (), (), scopes_known=True)
    granted = connection.scopes
    return ConnectionView(
        state=connection.state,
        why=_ENDED[connection.ended_why] if connection.state == "ended" else None,
        renewed=moment(connection.obtained_at, zone),
        granted=tuple((scope, unlocked_by(scope)) for scope in sorted(granted or ())),
        missing=()
        if granted is None
        else tuple((scope, unlocked_by(scope)) for scope in asked if scope not in granted),
        scopes_known=granted is not None,
    )


def app_rows(grants: Sequence[Grant], zone: str | None) -> list[AppRow]:
    """Describe each app, in the order given."""
    return [
        AppRow(
            grant_id=grant.id,
            name=plain_name(grant.client_name) or "An app without a name",
            goes_to=_place(grant.redirect_uri),
            approved=moment(grant.created_at, zone),
            refreshed=None if grant.refreshed_at is None else moment(grant.refreshed_at, zone),
        )
        for grant in grants
    ]


def _place(redirect_uri: str) -> str:
    """Name where a result went; the reader may sit at another computer by now."""
    goes_to = destination(redirect_uri)
    return "the computer it was approved on" if goes_to.name == "this computer" else goes_to.name


def moment(at: float, zone: str | None) -> str:
    """Write an instant (unix seconds) for a person: "10 March 2026, 09:05", with "UTC" when no zone is known."""
    when = datetime.fromtimestamp(at, ZoneInfo(zone) if zone else UTC)
    text = f"{when.day} {when:%B %Y, %H:%M}"
    return text if zone else f"{text} UTC"
