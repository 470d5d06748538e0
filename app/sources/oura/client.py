"""Sends one authenticated GET to Oura and gives back a page, within bounded retries. What to ask is decided above."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Protocol

import anyio
import anyio.to_thread
import httpx2

from app.errors import ReconnectRequired, SourceBusy, SourceChanged, SourceUnreachable, TokenRefused
from app.identity import Caller
from app.sources.base import Collection, DateKind
from app.sources.oura import wire
from app.sources.oura.pace import Held, Pace
from app.sources.pages import Page
from app.sources.windows import Window

_TIMEOUT: Final = httpx2.Timeout(15.0, connect=5.0, pool=30.0)
_DEADLINE_S: Final = 45.0  # one attempt, body included: longer than each single timeout above
_LARGEST_BODY: Final = 32 * 1024 * 1024  # a year of activity with its minute series is 3 MB
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
    ) -> None:
        """Wire it.

        Args:
            http: Shared client; its connections are kept alive between questions.
            api_url: `https://api.ouraring.com`; the token is sent nowhere else.
            tokens: Where access tokens come from; None in sandbox mode.
            sandbox: Ask Oura's sample data.
            sleep: Waits between retries, in seconds.
        """
        self._http = http
        self._root = f"{api_url.rstrip('/')}/v2/{'sandbox/' if sandbox else ''}usercollection"
        self._tokens = tokens
        self._sandbox = sandbox
        self._sleep = sleep
        self._pace = Pace(sleep=sleep)
        self._reading = anyio.CapacityLimiter(1)  # more threads at work would only keep the event loop waiting

    def question(
        self, collection: Collection, window: Window | None, *, fields: tuple[str, ...], latest: bool
    ) -> dict[str, str]:
        """Put a window into Oura's parameters."""
        return wire.question(collection, window, fields=fields, latest=latest, sandbox=self._sandbox)

    async def page(
        self, caller: Caller, collection: Collection, params: Mapping[str, str], *, next_token: str | None = None
    ) -> Page:
        """Ask for one page.

        A refused access token is renewed once and the question repeated once. GETs may be repeated: one answer of 5xx
        or a cut connection, and a rate limit that passes within seconds.

        Raises:
            ReconnectRequired: Oura refuses a renewed token too, or there is none.
            NotPermitted, MembershipRequired, BadRequest, SourceBusy, SourceChanged: See `wire.parse_page`.
            SourceUnreachable: No connection, too slow, or cut off.
            StoreUnavailable: The credential could not be read.
        """
        url = f"{self._root}/{collection.name}"
        if asked := wire.query(params, next_token=next_token):
            url += f"?{asked}"
        token = await self._token(caller, refused=None)
        try:
            return await self._patiently(url, token, collection)
        except TokenRefused:
            renewed = await self._token(caller, refused=token)
        try:
            return await self._patiently(url, renewed, collection)
        except TokenRefused as error:
            raise ReconnectRequired(
                "Oura refuses the access token even after it was renewed. The owner must sign in at Oura again."
            ) from error

    async def _token(self, caller: Caller, *, refused: str | None) -> str:
        if self._tokens is None:
            return _SANDBOX_WORD
        return await self._tokens.access_token(caller, refused=refused)

    async def _patiently(self, url: str, token: str, collection: Collection) -> Page:
        waited_s, limited, failed = 0.0, 0, 0
        while True:
            try:
                page = await self._once(url, token, collection)
            except Held:
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

    async def _once(self, url: str, token: str, collection: Collection) -> Page:
        async with self._pace.turn():
            status, headers, body = await get(self._http, url, token)
            if status == 429:
                self._pace.limited()
            else:
                self._pace.answered()
        parse = partial(wire.parse_page, status, headers, body, bare_record=collection.date_kind is DateKind.UNDATED)
        if status == 429 or len(body) <= _PARSED_AT_ONCE:  # the first without a pause, see `Pace.limited`
            return parse()
        return await anyio.to_thread.run_sync(parse, limiter=self._reading)


async def get(http: httpx2.AsyncClient, url: str, token: str) -> tuple[int, Mapping[str, str], bytes]:
    """Send one GET with a bearer token and read a bounded answer. Redirects are not followed: the token stays here.

    Raises:
        SourceUnreachable: No connection, too slow, or cut off.
        SourceChanged: The answer is larger than any we know.
    """
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    body = bytearray()
    try:
        with anyio.fail_after(_DEADLINE_S):
            request = http.stream("GET", url, headers=headers, timeout=_TIMEOUT, follow_redirects=False)
            async with request as response:
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _LARGEST_BODY:
                        raise SourceChanged(
                            f"Oura's answer is larger than {_LARGEST_BODY // 2**20} MB; ask for fewer days.",
                            status=response.status_code,
                        )
                return response.status_code, response.headers, bytes(body)
    except (httpx2.HTTPError, httpx2.StreamError, TimeoutError) as error:
        # Without its cause, which may carry the address with its query string.
        raise SourceUnreachable(
            f"Oura could not be reached, or its answer was cut off ({type(error).__name__}). Ask again in a minute."
        ) from None
