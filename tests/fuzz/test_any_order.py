"""Register, look, consent, sign in, redeem, refresh, revoke: in any order, by two browsers and two apps.

Each uses what is its own and what is the other's; a model says after each step who may hold what.
"""

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anyio.from_thread
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.authserver.issued.codes import CODE_LIFE_S
from app.authserver.issued.tokens import ACCESS_LIFE_S, GRACE_S
from app.authserver.owner.attempts import ATTEMPT_LIFE_S
from app.authserver.owner.browser import TOKEN_LIFE_S
from tests.app_under_test import OURA, URL, running_app
from tests.fuzz import people
from tests.fuzz.people import Access, Attempt, Code, Family, Page, Refresh, World
from tests.fuzz.trying import TIMES, examples

TWO = st.integers(0, 1)
MOSTLY = st.sampled_from([True, True, True, False])  # one's own thing; else that of the other
STEPS = 18  # with the one before them fewer sign-ins than an address may begin in ten minutes


def any_of(data: st.DataObject, things: list[Any], what: str) -> Any:
    """One of them, more often the newest than another: most of what can go wrong is about what has just happened."""
    return things[-1 - data.draw(st.just(0) | st.integers(0, len(things) - 1), what)]


class Journeys(RuleBasedStateMachine):
    """See the module."""

    world: World
    happened: ClassVar[Counter[str]] = Counter()  # over all walks

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.portal_open = anyio.from_thread.start_blocking_portal()
        self.portal = self.portal_open.__enter__()
        self.running = self.portal.wrap_async_context_manager(running_app(Path(self.folder.name)))
        self.vitals = self.running.__enter__()

    def teardown(self) -> None:
        self.running.__exit__(None, None, None)
        self.portal_open.__exit__(None, None, None)
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.world = self.portal.call(people.begin, self.vitals)
        self.go(0, 0, "tokens")

    @rule(browser=TWO, app=TWO, until=st.sampled_from(["Oura", "code", "tokens"]))
    def go(self, browser: int, app: int, until: str) -> None:
        """The honest way, or the first part of it, in one go: so what follows is met often enough."""
        self.look(browser, app, app)
        self._press(self.world.pages[-1], browser, "approve")
        if until != "Oura":
            self._come_back(self.world.attempts[-1], browser, "owner")
        if until == "tokens":
            self._redeem(self.world.codes[-1], app, sound=True)

    @rule(browser=TWO, app=TWO, redirect=TWO)
    def look(self, browser: int, app: int, redirect: int) -> None:
        answer = self.portal.call(people.look, self.world, browser, app, redirect)
        assert answer.status_code == (200 if redirect == app else 400)
        assert "location" not in answer.headers

    @precondition(lambda self: self.world.pages)
    @rule(data=st.data(), own=MOSTLY, decision=st.sampled_from(["approve", "approve", "approve", "deny"]))
    def decide(self, data: st.DataObject, own: bool, decision: str) -> None:
        page: Page = any_of(data, self.world.pages, "page")
        self._press(page, page.browser if own else 1 - page.browser, decision)

    def _press(self, page: Page, browser: int, decision: str) -> None:
        answer = self.portal.call(people.press, self.world, browser, page, decision)
        if browser != page.browser:
            assert answer.status_code == 403, "a form of another browser"
        elif self.world.now - page.at > TOKEN_LIFE_S:
            assert answer.status_code == 400, "a page too old"
        elif decision == "deny":
            assert "location" not in answer.headers, "nobody is sent to an address that nobody vouches for"
            assert "error=access_denied" in answer.text, "the way back is a button"
        else:
            location = answer.headers["location"]
            assert location.startswith(f"{OURA}/oauth/authorize?"), "consent comes before Oura"
            self.world.attempts.append(Attempt(browser, page.app, location, self.world.now))

    @precondition(lambda self: self.world.attempts)
    @rule(data=st.data(), own=MOSTLY, who=st.sampled_from(["owner", "owner", "stranger", "refuse"]))
    def come_back(self, data: st.DataObject, own: bool, who: str) -> None:
        attempt: Attempt = any_of(data, self.world.attempts, "attempt")
        self._come_back(attempt, attempt.browser if own else 1 - attempt.browser, who)

    def _come_back(self, attempt: Attempt, browser: int, who: str) -> None:
        address = self.portal.call(people.at_oura, self.world, attempt, who)
        answer = self.portal.call(self.world.browsers[browser].get, address)
        location = answer.headers.get("location", "")
        if browser == attempt.browser and not attempt.ended and self.world.now - attempt.at < ATTEMPT_LIFE_S:
            attempt.ended = True
            if who == "owner":
                assert location.startswith(f"{self.world.redirect(attempt.app)}?")
                said = people.answered(location)
                assert (said["state"], said["iss"]) == (f"state of {attempt.app}", URL)
                self.world.codes.append(Code(said["code"], attempt.app, self.world.now))
                return
        attempt.ended |= browser != attempt.browser  # whoever opens it elsewhere ends it
        assert not location, "a code without the owner's approval in this browser"
        assert "code=" not in answer.text

    @precondition(lambda self: self.world.codes)
    @rule(data=st.data(), own=MOSTLY, sound=MOSTLY)
    def redeem(self, data: st.DataObject, own: bool, sound: bool) -> None:
        code: Code = any_of(data, self.world.codes, "code")
        self._redeem(code, code.app if own else 1 - code.app, sound=sound)

    def _redeem(self, code: Code, app: int, *, sound: bool) -> None:
        answer = self.portal.call(lambda: people.redeem(self.world, app, code, sound=sound))
        fresh = self.world.now - code.made_at < CODE_LIFE_S and code.family is None
        if app == code.app and sound and fresh:
            assert answer.status_code == 200
            self.happened["redeemed"] += 1
            code.family = Family(app)
            self._hold(answer.json(), code.family)
            return
        assert answer.status_code == 400
        assert "access_token" not in answer.text
        self.happened["code refused"] += 1
        if app == code.app and sound and code.family is not None and self.world.now - code.made_at < 3600:
            code.family.alive = False  # redeemed twice: one of the two was a thief

    def _hold(self, answer: dict[str, Any], family: Family) -> Refresh:
        refresh = Refresh(answer["refresh_token"], family)
        self.world.refresh.append(refresh)
        self.world.access.append(Access(answer["access_token"], family, self.world.now + ACCESS_LIFE_S))
        return refresh

    @precondition(lambda self: self.world.refresh)
    @rule(data=st.data(), own=MOSTLY)
    def refresh(self, data: st.DataObject, own: bool) -> None:
        self._refresh(any_of(data, self.world.refresh, "refresh token"), own)

    @precondition(lambda self: any(each.successor for each in self.world.refresh))
    @rule(data=st.data())
    def refresh_again(self, data: st.DataObject) -> None:
        used = [each for each in self.world.refresh if each.successor]
        self._refresh(any_of(data, used, "used refresh token"), own=True)

    def _refresh(self, held: Refresh, own: bool) -> None:
        app = held.family.app if own else 1 - held.family.app
        answer = self.portal.call(
            lambda: people.token(self.world, app, grant_type="refresh_token", refresh_token=held.value)
        )
        if app != held.family.app or not held.family.alive:
            assert answer.status_code == 400
            self.happened["token refused"] += 1
        elif held.successor is None:
            assert answer.status_code == 200
            self.happened["refreshed"] += 1
            held.successor = self._hold(answer.json(), held.family)
            held.rotated_at, held.access = self.world.now, self.world.access[-1]
        elif self.world.now - (held.rotated_at or 0) <= GRACE_S and held.successor.successor is None:
            assert answer.json()["refresh_token"] == held.successor.value, "the same answer again"
            self.happened["answered again"] += 1
            assert held.access is not None
            if not held.access.revoked:
                held.access.expires_at = self.world.now + ACCESS_LIFE_S
        else:
            assert answer.status_code == 400
            self.happened["family ended"] += 1
            held.family.alive = False

    @precondition(lambda self: self.world.refresh)
    @rule(data=st.data(), own=MOSTLY, kind=st.sampled_from(["access", "access", "refresh"]))
    def give_back(self, data: st.DataObject, own: bool, kind: str) -> None:
        held: Access | Refresh = any_of(data, getattr(self.world, kind), "token")
        self._give_back(held, own)

    def _give_back(self, held: Access | Refresh, own: bool) -> None:
        app = held.family.app if own else 1 - held.family.app
        answer = self.portal.call(people.revoke, self.world, app, held.value)
        assert answer.status_code < 500
        if app == held.family.app:
            if isinstance(held, Refresh):
                held.family.alive = False
            else:
                held.revoked = True

    @rule(seconds=st.sampled_from([1, 1, 61, 121, 601, 3601]))
    def wait(self, seconds: int) -> None:
        self.vitals.clock.at += seconds

    @invariant()
    def a_token_is_let_in_if_and_only_if_it_should_be(self) -> None:
        if not hasattr(self, "world"):
            return
        for access in self.world.access[-4:]:
            should = access.family.alive and not access.revoked and self.world.now < access.expires_at
            assert self.portal.call(people.admitted, self.world, access) is should

    @invariant()
    def nobody_else_was_let_in(self) -> None:
        if hasattr(self, "world"):
            assert self.portal.call(people.grants, self.world) == len(self.world.families())


def test_each_thing_that_can_happen_happens_as_the_model_says() -> None:
    """One walk in a fixed order, so that no guard waits for chance to be tried."""
    it = Journeys()

    def then(step: Callable[..., object], *arguments: object, **more: object) -> None:
        step(*arguments, **more)
        it.a_token_is_let_in_if_and_only_if_it_should_be()
        it.nobody_else_was_let_in()

    try:
        it.begin()
        then(it.look, 0, 0, 1)
        then(it.look, 1, 1, 1)  # so that the other browser has a cookie of ours too
        then(it.go, 0, 0, "Oura")
        world = it.world
        then(it._press, world.pages[-1], 1, "approve")
        then(it._press, world.pages[-1], 0, "deny")
        for who in ("owner", "stranger", "owner"):
            then(it._come_back, world.attempts[-1], 1, who)
        then(it._come_back, world.attempts[-1], 0, "owner")  # ended by the other browser
        then(it._press, world.pages[-1], 0, "approve")
        then(it._come_back, world.attempts[-1], 0, "owner")
        then(it._come_back, world.attempts[-1], 0, "owner")
        for app, sound in ((1, True), (0, False), (0, True)):
            then(it._redeem, world.codes[-1], app, sound=sound)
        for who in ("stranger", "refuse"):
            then(it.go, 1, 1, "Oura")
            then(it._come_back, world.attempts[-1], 1, who)
        for own in (False, True, True):
            then(it._refresh, world.refresh[-1], own)
        then(it._refresh, world.refresh[-2], True)
        then(it._give_back, world.access[-1], False)
        then(it._give_back, world.access[-1], True)
        then(it.go, 1, 1, "tokens")
        then(it._redeem, world.codes[-1], 1, sound=True)
        for late in (world.refresh[-2], world.refresh[-3]):
            then(it.wait, 121)
            then(it._refresh, late, own=True)
        then(it.go, 0, 1, "tokens")
        then(it._give_back, world.refresh[-1], False)
        then(it._give_back, world.refresh[-1], True)
        then(it.go, 1, 0, "code")
        then(it.wait, 61)
        then(it._redeem, world.codes[-1], 0, sound=True)
        then(it.go, 1, 0, "tokens")
        then(it.go, 1, 0, "Oura")
        then(it.wait, 601)
        then(it._press, world.pages[-1], 1, "approve")
        then(it._come_back, world.attempts[-1], 1, "owner")
        then(it.wait, 3601)
        assert len([each for each in world.refresh if each.family.alive]) == 2
    finally:
        it.teardown()


@pytest.mark.timeout(120 * TIMES)
def test_whoever_does_what_in_whatever_order_only_the_approved_app_holds_live_tokens() -> None:
    Journeys.happened.clear()

    run_state_machine_as_test(Journeys, settings=examples(30, steps=STEPS))

    for what in ("redeemed", "code refused", "refreshed", "token refused", "answered again", "family ended"):
        assert Journeys.happened[what], f"no walk came so far: {what}"
