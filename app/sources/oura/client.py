"""Sends one authenticated GET to Oura and gives back a page, within bounded retries. What to ask is decided above."""

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Protocol

import anyio
import anyio.to_thread
import httpx2

from app.errors import ReconnectRequired, SourceBusy, SourceUnreachable, TokenRefused
from app.identity import Caller
from app.sources.base import Collection, DateKind
from app.sources.oura import wire
from app.sources.oura.breaker import Breaker, Down
from app.sources.oura.pace import Held, Pace
from app.sources.oura.refusals import Refusals
from app.sources.oura.sending import Got, get
from app.sources.pages import Page
from app.sources.windows import Window

_PARSED_AT_ONCE: Final = 32 * 1024  # bytes; a larger answer is read in a thread, since the event loop serves others too
_RATE_LIMIT_TRIES: Final = 2
_RATE_LIMIT_WAIT_S: Final = 10.0  # in all; whoever asks waits with us
_RETRY_WAIT_S: Final = 0.5
_SANDBOX_WORD: Final = "sandbox"  # any word does


class Tokens(Protocol):
    """The one thing this module needs of `app.vault.rotation`."""

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        """Return an access token that the source has not refused."""


class OuraClient:
    """Oura's data API for one set of credentials; a `Pages`."""

    def __init__(
        self,
        *,
        http: httpx2.AsyncClient,
        api_url: str,
        tokens: Tokens | None,
        sandbox: bool = False,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire it.

        Args:
            http: Shared client; its connections are kept alive between questions.
            api_url: `https://api.ouraring.com`; the token is sent nowhere else.
            tokens: Where access tokens come from; None in sandbox mode.
            sandbox: Ask Oura's sample data.
            sleep: Waits between retries, in seconds.
            clock: Seconds that only rise.
        """
        self._http = http
        self._root = f"{api_url.rstrip('/')}/v2/{'sandbox/' if sandbox else ''}usercollection"
        self._tokens = tokens
        self._sandbox = sandbox
        self._sleep = sleep
        self._pace = Pace(sleep=sleep, clock=clock)
        self._breaker = Breaker(clock=clock)
        self._refusals = Refusals(clock=clock)
        self._reading = anyio.CapacityLimiter(1)  # more threads at work would only keep the event loop waiting

    def question(
        self, collection: Collection, window: Window | None, *, fields: tuple[str, ...], latest: bool
    ) -> dict[str, str]:
        """Put a window into Oura's parameters."""
        return wire.question(collection, window, fields=fields, latest=latest, sandbox=self._sandbox)

    def troubles(self, caller: Caller) -> dict[str, object]:
        """Return what this process met last, as far as it was no good: `source_down`, `token_refused`."""
        found: dict[str, object] = {}
        if (down := self._breaker.down()) is not None:
            found["source_down"] = down
        if self._refusals.refused(caller.owner):
            found["token_refused"] = True
        return found

    async def page(
        self, caller: Caller, collection: Collection, params: Mapping[str, str], *, next_token: str | None = None
    ) -> Page:
        """Ask for one page.

        A refused access token is renewed once and the question repeated once. GETs may be repeated: one answer of 5xx
        or a cut connection, and a rate limit that passes within seconds. While Oura is down nothing is sent.

        Raises:
            ReconnectRequired: Oura refuses a renewed token too, or did a moment ago, or there is none.
            NotPermitted, MembershipRequired, BadRequest, SourceBusy, SourceChanged: See `wire.parse_page`.
            SourceUnreachable: No connection, too slow, or cut off; or `Down`.
            StoreUnavailable: The credential could not be read.
        """
        url = f"{self._root}/{collection.name}"
        if asked := wire.query(params, next_token=next_token):
            url += f"?{asked}"
        token = await self._token(caller, refused=None)
        try:
            return await self._accepted(url, token, collection, caller)
        except TokenRefused:
            self._refusals.hold(caller.owner, token)
            renewed = await self._token(caller, refused=token)
        try:
            return await self._accepted(url, renewed, collection, caller)
        except TokenRefused as error:
            self._refusals.note(caller.owner, renewed, collection.name)
            raise ReconnectRequired(
                "Oura refuses the access token even after it was renewed. The owner must sign in at Oura again."
            ) from error

    async def _token(self, caller: Caller, *, refused: str | None) -> str:
        if self._tokens is None:
            return _SANDBOX_WORD
        return await self._tokens.access_token(caller, refused=refused)

    async def _accepted(self, url: str, token: str, collection: Collection, caller: Caller) -> Page:
        page = await self._patiently(url, token, collection)
        self._refusals.forget(caller.owner, collection.name)
        return page

    async def _patiently(self, url: str, token: str, collection: Collection) -> Page:
        waited_s, limited, failed = 0.0, 0, 0
        while True:
            try:
                page = await self._once(url, token, collection, last=failed > 0)
            except (Held, Down):
                raise
            except SourceBusy as error:
                if error.status == 429:
                    wait_s = 1.0 if error.retry_after_s is None else max(error.retry_after_s, _RETRY_WAIT_S)
                    limited += 1
                    if limited > _RATE_LIMIT_TRIES or waited_s + wait_s > _RATE_LIMIT_WAIT_S:
                        self._pace.refuse_for(wait_s)
                        raise
                    waited_s += wait_s
                    await self._pace.wait_out(wait_s)
                    continue
                failed += 1
                if failed > 1:
                    raise
            except SourceUnreachable:
                failed += 1
                if failed > 1:
                    raise
            else:
                return Page(page.records, page.next_token, rate_limited=limited > 0)
            await self._sleep(_RETRY_WAIT_S)

    async def _once(self, url: str, token: str, collection: Collection, *, last: bool) -> Page:
        status, headers, body = await self._sent(url, token, collection, last=last)
        parse = partial(wire.parse_page, status, headers, body, bare_record=collection.date_kind is DateKind.UNDATED)
        if status == 429 or len(body) <= _PARSED_AT_ONCE:  # the first without a pause, see `Pace.limited`
            return parse()
        return await anyio.to_thread.run_sync(parse, limiter=self._reading)

    async def _sent(self, url: str, token: str, collection: Collection, *, last: bool) -> Got:
        """Send once, when there is a place; who would only wait for a probe keeps none from the others."""
        while True:
            await self._breaker.wait(collection.name)  # who comes while Oura is down is told at once
            async with self._pace.turn():
                if self._breaker.probing(collection.name):  # begun while this one waited for its place
                    continue
                async with self._breaker.asking(collection.name, last=last) as asking:
                    status, headers, body = await get(self._http, url, token)
                    if status == 429:
                        self._pace.limited()
                    else:
                        self._pace.answered()
                    if (failing := wire.down(status, headers, body)) is not None:
                        asking.failed(failing, wire.wait_asked_s(headers), last=status < 500)  # a page: not repeated
                return status, headers, body
