"""Many clients at once, each with questions and tokens of its own, and what became of each of their requests.

A client asks by turns through every process, as a load balancer without memory would send it. It checks each answer
against what it got when it asked alone: an answer of somebody else, of another question or of a wrong day is `crossed`.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import orjson

from app.demo.walk import App, WalkFailed, sign_in
from bench.rate import ERAS, answer, call
from bench.running import silently

SIGN_INS = 5
LIMIT_S = 60.0  # longer than anything a client should have to wait for

Question = tuple[str, Mapping[str, object]]  # tool, arguments


@dataclass
class Tally:
    """What all clients saw."""

    took_s: list[float] = field(default_factory=list)  # of tool calls
    outcomes: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)  # words of tool errors, cut short

    def share(self, quantile: float) -> float:
        """Return the time within which that share of the tool calls was answered, in seconds."""
        return sorted(self.took_s)[min(len(self.took_s) - 1, int(quantile * len(self.took_s)))]


@dataclass
class Client:
    """One app with a sign-in of its own.

    Attributes:
        app: What it holds.
        who: Whose data it sees: the button at the simulated Oura.
        question: The one it asks all the time.
        expected: The records that answer it.
        ports: The processes.
        seed: Its own chance.
        leaving: How often it leaves and comes back, of all it does.
    """

    app: App
    who: str
    question: Question
    expected: list[Any]
    ports: Sequence[int]
    seed: int
    leaving: float

    async def run(self, tally: Tally, until: float) -> None:
        """Ask, renew, and now and then leave and come back, until then."""
        chance = random.Random(self.seed)
        for turn in range(1_000_000):
            if time.perf_counter() >= until:
                return
            dice = chance.random()
            port = self.ports[(turn + self.seed) % len(self.ports)]
            if dice < self.leaving:
                await self._leave_and_return(tally, port)
            elif dice < 0.04:
                await self._renew(tally, port)
            elif dice < 0.14:
                await self._ask(tally, port, ("health_check", {}), None, era=chance.choice(ERAS))
            else:
                await self._ask(tally, port, self.question, self.expected, era=chance.choice(ERAS))

    async def _ask(self, tally: Tally, port: int, question: Question, expected: list[Any] | None, *, era: str) -> None:
        tool, arguments = question
        host = httpx2.URL(self.app.mcp_url).netloc.decode()
        request = call(host, era=era, tool=tool, token=self.app.access_token, arguments=dict(arguments))
        began = time.perf_counter()
        try:
            async with asyncio.timeout(LIMIT_S):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    writer.write(request)
                    status, body = await answer(reader)
                finally:
                    writer.close()
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as exc:
            tally.outcomes[f"no answer ({type(exc).__name__})"] += 1
            return
        tally.took_s.append(time.perf_counter() - began)
        tally.outcomes[_judge(tally, status, body, expected)] += 1

    async def _renew(self, tally: Tally, port: int) -> None:
        through = self._through(port)
        status = await self._post(
            through, "token_endpoint", grant_type="refresh_token", refresh_token=self.app.refresh_token
        )
        if isinstance(status, int):
            tally.outcomes[f"refresh: {status}"] += 1
            return
        tally.outcomes["refreshed"] += 1
        self.app.access_token, self.app.refresh_token = status["access_token"], status["refresh_token"]

    async def _leave_and_return(self, tally: Tally, port: int) -> None:
        gone = self.app.access_token
        status = await self._post(self._through(port), "revocation_endpoint", token=self.app.refresh_token)
        if isinstance(status, int):
            tally.outcomes[f"revoke: {status}"] += 1
            return
        async with httpx2.AsyncClient(trust_env=False, timeout=LIMIT_S, headers=_from(self.seed)) as browser:
            refused = await browser.post(
                f"http://127.0.0.1:{self.ports[0]}/mcp",
                headers={"authorization": f"Bearer {gone}", "host": httpx2.URL(self.app.mcp_url).netloc.decode()},
            )
            tally.outcomes["revoked" if refused.status_code == 401 else f"after revocation: {refused.status_code}"] += 1
            for _attempt in range(SIGN_INS):
                try:
                    await sign_in(self.app, browser, silently, who=self.who)
                except WalkFailed as failed:
                    # Oura may fail in the middle of it; the page that says so is a 502, and a person tries again.
                    upstream = str(failed).endswith("/callback/oura/ with status 502.")
                    tally.outcomes["sign-in told that Oura failed" if upstream else f"sign-in: {failed}"[:120]] += 1
                else:
                    tally.outcomes["signed in again"] += 1
                    return

    def _through(self, port: int) -> dict[str, str]:
        """Return the endpoints of one process."""
        return {
            name: str(httpx2.URL(str(self.app.server[name])).copy_with(port=port))
            for name in ("token_endpoint", "revocation_endpoint")
        }

    async def _post(self, through: Mapping[str, str], endpoint: str, **form: str) -> dict[str, Any] | int:
        """Return the answer, or the status of one that is not 200; 0 if there was none."""
        held = {"client_id": self.app.client_id, "resource": self.app.mcp_url, **form}
        host = httpx2.URL(self.app.mcp_url).netloc.decode()
        try:
            got = await self.app.http.post(through[endpoint], data=held, headers={"host": host})
        except httpx2.HTTPError:
            return 0
        if got.status_code != 200:
            return got.status_code
        found: dict[str, Any] = orjson.loads(got.content) if got.content else {}
        return found


def _judge(tally: Tally, status: int, body: bytes, expected: list[Any] | None) -> str:
    if status != 200:
        return f"HTTP {status}"
    result = orjson.loads(body).get("result")
    if result is None:
        return "JSON-RPC error"
    if result.get("isError"):
        tally.notes[result["content"][0]["text"][:90]] += 1
        return "named error"
    if expected is None:
        return "checked"
    found = result["structuredContent"]
    if not found["complete"]:
        return "partial" if all(record in expected for record in found["data"]) else "crossed"
    return "answered" if found["data"] == expected else "crossed"


async def sign_in_all(
    app: App,
    *,
    clients: int,
    questions: Sequence[Question],
    expected: Mapping[tuple[str, int], list[Any]],
    ports: Sequence[int],
    leaving: float,
) -> list[Client]:
    """Sign in that many clients, half of them as each of the two owners, a few at a time.

    Args:
        app: A registered app, without tokens.
        clients: How many.
        questions: They are shared out in turn; both owners ask each, or a mix-up of owners would not be seen.
        expected: By owner and number of question.
        ports: The processes.
        leaving: See `Client`.
    """
    places = asyncio.Semaphore(4)

    async def one(number: int) -> Client:
        who = ("owner", "stranger")[number % 2]
        which = number // 2 % len(questions)
        async with places, httpx2.AsyncClient(trust_env=False, timeout=LIMIT_S, headers=_from(number)) as browser:
            own = replace(app, http=httpx2.AsyncClient(trust_env=False, timeout=LIMIT_S, headers=_from(number)))
            await sign_in(own, browser, silently, who=who)
        return Client(own, who, questions[which], expected[who, which], ports, number, leaving)

    return list(await asyncio.gather(*(one(number) for number in range(clients))))


def _from(number: int) -> dict[str, str]:
    """Return the address of a client, as a proxy on loopback would name it."""
    return {"x-forwarded-for": f"198.51.{100 + number // 250}.{1 + number % 250}"}
