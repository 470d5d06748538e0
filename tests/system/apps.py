"""Many apps asking real processes at once."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date, timedelta
from urllib.parse import urlsplit

import anyio
import httpx2

from app.demo.walk import App, WalkFailed
from tests.processes import Oura, Process, app_at, process_pause


@asynccontextmanager
async def app_through(process: Process, held: App) -> AsyncIterator[App]:
    """The same app, reaching the connector by another process of it, as a load balancer would send it."""
    host = urlsplit(held.mcp_url).netloc  # the public name stays what it is
    async with httpx2.AsyncClient(trust_env=False, timeout=60, headers={"host": host}) as http:
        yield replace(held, http=http, mcp_url=process.mcp_url)


async def signed_in(process: Process) -> App:
    """An app with tokens of its own; its connection is closed again."""
    async with app_at(process) as app:
        return app


async def ask_at_once(processes: Sequence[Process], held: App, times: int) -> list[str]:
    """Ask that many different questions at once, in turn through each process; equal ones would share one fetch.

    Returns:
        For each call "answered", or the words of the tool's error.
    """
    said: list[str] = []

    async def ask(app: App, number: int) -> None:
        first = date(2026, 1, 5) + timedelta(days=number)
        try:
            answer = await app.ask(
                "health_query", collection="daily_activity", start=str(first), end=str(first + timedelta(days=2))
            )
        except WalkFailed as failed:
            said.append(str(failed))
        else:
            said.append(f"answered, complete: {answer['complete']}")

    async with anyio.create_task_group() as group:
        opened = [app_through(process, held) for process in processes]
        apps = [await each.__aenter__() for each in opened]
        async with anyio.create_task_group() as calls:
            for number in range(times):
                calls.start_soon(ask, apps[number % len(apps)], number)
        for each in opened:
            await each.__aexit__(None, None, None)
        group.cancel_scope.cancel()
    return said


async def ask_once(process: Process, held: App) -> str:
    """Ask one question; return what was said."""
    return (await ask_at_once([process], held, 1))[0]


async def until_held(oura: Oura) -> None:
    """Return when Oura has handled a request and keeps the answer back."""
    with anyio.fail_after(30):
        while not oura.simulator.faults.held:
            await anyio.to_thread.run_sync(process_pause)
