"""The start: refuses what only a person can mend, waits for what passes by itself, and says what may go wrong later."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from app import logs
from app.errors import StoreUnavailable
from app.examining import examine
from app.parts import Parts

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0
log = logs.get(__name__)


@asynccontextmanager
async def looked_after(parts: Parts) -> AsyncIterator[None]:
    """Look at the store now; if it does not answer, go on, fail closed, and look again until it does.

    A store that starts later than this process, or is restarting, is no reason to be started again by hand.

    Raises:
        StoreUnavailable: It cannot be used as it is (password, rights, certificate, damage), and no waiting helps.
    """
    waiting: asyncio.Task[None] | None = None
    try:
        await _report(parts)
    except StoreUnavailable as exc:
        if exc.outage == "unusable":
            raise
        log.error("started_without_store", reason=str(exc))
        waiting = asyncio.create_task(_wait(parts))
    try:
        yield
    finally:
        if waiting is not None:
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting


async def _wait(parts: Parts) -> None:
    pause_s = _FIRST_PAUSE_S
    while True:
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        with suppress(StoreUnavailable):  # the store has written to the log that, and why
            return await _report(parts)


async def _report(parts: Parts) -> None:
    for finding in await examine(parts):
        if finding.level in {"warning", "bad"}:
            log.warning("store_needs_attention", reason=finding.text)
