"""The simulated Oura, put together: `Simulator.app` is what a server serves or an in-process transport calls."""

from collections.abc import Callable
from datetime import date
from zoneinfo import ZoneInfo

import orjson
from starlette.applications import Starlette
from starlette.types import ASGIApp

from app.simulator.archive import Archive
from app.simulator.control import Control
from app.simulator.faults import Faults
from app.simulator.filters import Rules
from app.simulator.grants import SCOPES, Family, Grants
from app.simulator.oauth import App, OAuth
from app.simulator.pages import Pages
from app.simulator.person import STRANGER, Person
from app.simulator.routes import Data
from app.simulator.truth import truth
from app.simulator.watch import Counts, Seen, Watch
from app.simulator.wire import Wire
from app.simulator.world import Canary, Record, World


class Simulator:
    """An Oura with one registered application and two accounts, the owner's and a stranger's.

    Args:
        now: The clock, unix seconds.
        seed: Another seed is another life of the same person.
        person: The owner; a traveller who lives in Berlin if left out.
        app: The registered application.
        rules: Behaviours that were not measured everywhere.
        expires_in_s: Life of an access token.
        issue_refresh: Whether refresh tokens are given out at all.
        refresh_ends_access: Whether a refresh ends the access tokens given out before.
        canary: Distinctive values to plant.
        rate_limit: Data requests in 5 minutes before 429; None for no limit.
        control: Whether the `/_sim/` routes exist. Never where others can reach it.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        seed: int = 7,
        person: Person | None = None,
        app: App | None = None,
        rules: Rules | None = None,
        expires_in_s: float = 2_592_000,
        issue_refresh: bool = True,
        refresh_ends_access: bool = False,
        canary: Canary | None = None,
        rate_limit: int | None = None,
        control: bool = False,
    ) -> None:
        self._now = now
        self.synced_until: float | None = None  # nothing newer has reached Oura; None: everything has
        self.member = True
        self.person = person or Person.traveller()
        self.client = app or App()
        self.faults = Faults()
        self._watch = Watch()
        self.grants = Grants(
            now=now, expires_in_s=expires_in_s, issue_refresh=issue_refresh, refresh_ends_access=refresh_ends_access
        )
        rules = rules or Rules()
        self.archive = Archive(World(self.person, seed, self._horizon, canary))
        others = Archive(World(STRANGER, seed + 1, self._horizon, None))
        pages = {True: Pages(self.archive, rules), False: Pages(others, rules)}
        self.data = Data(
            grants=self.grants,
            archive_of=lambda family: self.archive if self._is_owner(family) else others,
            pages_of=lambda family: pages[self._is_owner(family)],
            member=lambda: self.member,
            now=now,
        )
        oauth = OAuth(app=self.client, owner=self.person, stranger=STRANGER, grants=self.grants, watch=self._watch)
        routes = oauth.routes() + self.data.routes() + (Control(self).routes() if control else [])
        self.app: ASGIApp = Wire(
            Starlette(routes=routes), faults=self.faults, watch=self._watch, now=now, rate_limit=rate_limit
        )

    @property
    def log(self) -> list[Seen]:
        """Every request seen, without tokens."""
        return self._watch.log

    @property
    def counts(self) -> Counts:
        """How often what was asked."""
        return self._watch.counts

    def truth(self, collection: str, start: date | str, end: date | str, zone: str | None = None) -> list[Record]:
        """Return the records whose own day lies in the inclusive range, exactly as Oura sends them.

        Args:
            collection: Any of the 19.
            start: First local day.
            end: Last local day.
            zone: Whose days are meant for heart rate and battery; the person's home if left out.
        """
        first, last = (day if isinstance(day, date) else date.fromisoformat(day) for day in (start, end))
        found = truth(self.archive, collection, first, last, ZoneInfo(zone) if zone else None)
        copied: list[Record] = orjson.loads(orjson.dumps(found))  # ours stay as they are, whatever a test does
        return copied

    def sign_in(self, *, who: str = "owner", scopes: frozenset[str] = frozenset(SCOPES)) -> dict[str, object]:
        """Give out tokens without the detour through a browser, for tests that begin connected."""
        account = self.person if who == "owner" else STRANGER
        code = self.grants.code(account, scopes, "", None, "plain")
        family, access = self.grants.exchange(code, "", None)
        return {"access_token": access, "refresh_token": family.refresh, "expires_in": self.grants.expires_in_s}

    def expire_access_tokens(self) -> int:
        """Let every access token be expired from now on; return how many were not."""
        return self.grants.expire_access()

    def state(self) -> dict[str, object]:
        """Return counts and the families of tokens, without a token."""
        families = [
            {
                "number": family.number,
                "account": family.account.account_id,
                "alive": family.alive,
                "ended_why": family.ended_why,
                "scopes": sorted(family.scopes),
                "renewals": family.renewals,
                "access_tokens": len(family.access),
            }
            for family in self.grants.families
        ]
        return {"counts": self._watch.state(), "families": families, "held": self.faults.held, "member": self.member}

    def _horizon(self) -> float:
        now = self._now()
        return now if self.synced_until is None else min(now, self.synced_until)

    def _is_owner(self, family: Family) -> bool:
        return family.account is self.person
