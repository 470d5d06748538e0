"""A process that asks for an access token: `python -m tests.vault.worker KIND PLACE PREFIX ORDER`, ORDER being JSON.

It prints `ready`, begins at a line on its input, and prints one line for each caller. At the checkpoint `step` it does
as `end` says: `kill` dies at once, `term` ends as a server does that is asked to stop, `stop` stands still until it is
told to go on.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import anyio
import anyio.to_thread

from app import logs
from app.errors import VitalsError
from app.store.base import Store
from app.vault.connections import Connections
from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshRefused, TokenAnswer
from app.vault.rotation import Rotation
from tests.vault.ada import ADA, KEYS, RECONNECT


class Endpoint:
    """The little of a source's OAuth that is needed here."""

    async def refresh(self, refresh_token: str, *, token_url: str) -> TokenAnswer:
        return await anyio.to_thread.run_sync(self._post, refresh_token, token_url)

    async def revoke(self, *, access_token: str, refresh_token: str | None) -> bool:
        raise NotImplementedError

    def _post(self, refresh_token: str, token_url: str) -> TokenAnswer:
        address = urlsplit(token_url)
        http = HTTPConnection(address.hostname or "", address.port, timeout=10)
        try:
            http.connect()
        except OSError as exc:
            raise NotSent("No connection.") from exc
        try:
            http.request("POST", address.path, urlencode({"refresh_token": refresh_token}))
            answer = http.getresponse()
            body = json.loads(answer.read())
        except (OSError, HTTPException) as exc:
            raise OutcomeUnknown("Cut.") from exc
        finally:
            http.close()
        if answer.status == 400:
            raise RefreshRefused("Refused.")
        return TokenAnswer(body["access_token"], body["refresh_token"], body["expires_in"], None, token_url)


def open_store(kind: str, place: str, prefix: str, now: Callable[[], float]) -> Store:
    if kind == "redis":
        from app.store.redis import RedisStore  # noqa: PLC0415 - a process starts quicker with one of them

        return RedisStore(place, now=now, prefix=prefix)
    from app.store.sqlite import SqliteStore  # noqa: PLC0415 - the same

    return SqliteStore(Path(place), now=now)


async def main(*arguments: str) -> None:
    logs.configure()  # to standard error: what we print is read
    kind, place, prefix, order = *arguments[:3], json.loads(arguments[3])

    def now() -> float:
        return time.time() + float(order["later_s"])

    asking = anyio.CancelScope()

    async def checkpoint(reached: str) -> None:
        if reached != order["step"]:
            return
        if order["end"] in {"kill", "stop"}:
            os.kill(os.getpid(), signal.SIGKILL if order["end"] == "kill" else signal.SIGSTOP)
            return
        asking.cancel()  # the server stops: callers are cut off, then it drains
        await anyio.sleep(0.02)

    store = open_store(kind, place, prefix, now)
    connections = Connections(store, KEYS)
    rotation = Rotation(
        connections=connections,
        store=store,
        endpoint=Endpoint(),
        now=now,
        reconnect_url=RECONNECT,
        checkpoint=checkpoint,
        **order["timing"],
    )

    async def ask() -> None:
        try:
            print(await rotation.access_token(ADA), flush=True)
        except VitalsError as exc:
            print(f"{type(exc).__name__}: {exc}", flush=True)

    print("ready", flush=True)
    sys.stdin.readline()
    with asking:
        async with anyio.create_task_group() as group:
            for _ in range(order["callers"]):
                group.start_soon(ask)
    await rotation.drain()
    await store.aclose()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
