"""Sends one GET with a token and reads a bounded answer, or says why none came. Retries are decided above."""

from collections.abc import Mapping
from typing import Final

import anyio
import httpx2

from app.errors import SourceChanged, SourceUnreachable
from app.sources.oura.unreachable import next_step, why

_TIMEOUT: Final = httpx2.Timeout(15.0, connect=5.0, pool=15.0)
# One attempt, body included: longer than each single timeout above, and short enough that two of them and the pause in
# between end before `tools.calling.ASK_S`, so that whoever asked hears what Oura did and not only that it took long.
_DEADLINE_S: Final = 18.0
_LARGEST_BODY: Final = 8 * 1024 * 1024  # a year of activity with its minute series is 3 MB; eight may be read at once

Got = tuple[int, Mapping[str, str], bytes]  # status, headers, body


class Unreachable(SourceUnreachable):
    """No usable answer came; `reason` says why in a few words."""

    def __init__(self, reason: str, then: str) -> None:
        self.reason = reason
        super().__init__(f"Asking Oura failed: {reason}. {then}")


async def get(http: httpx2.AsyncClient, url: str, token: str) -> Got:
    """Send one GET with a bearer token and read a bounded answer. Redirects are not followed: the token stays here.

    Raises:
        Unreachable: No connection, too slow, or cut off.
        SourceChanged: The answer is larger than any we know.
    """
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    body = bytearray()
    try:
        with anyio.fail_after(_DEADLINE_S):
            request = http.stream("GET", url, headers=headers, timeout=_TIMEOUT, follow_redirects=False)
            async with request as response:
                async for (
                    chunk
                ) in response.aiter_bytes():  # unpacked by httpx2 in pieces of 1 MB, however far they grow
                    if len(body) + len(chunk) > _LARGEST_BODY:
                        raise SourceChanged(
                            f"Oura's answer is larger than {_LARGEST_BODY // 2**20} MB; ask for fewer days.",
                            status=response.status_code,
                        )
                    body += chunk
                return response.status_code, response.headers, bytes(body)
    except (httpx2.HTTPError, httpx2.StreamError, TimeoutError) as error:
        # Without its cause, which may carry the address with its query string.
        raise Unreachable(why(error), next_step(error)) from None
