"""An app with a live token, and what every answer to it must be."""

from dataclasses import dataclass, field

from app.demo.walk import App
from tests.app_under_test import Vitals
from tests.fuzz.asking import Answer, Request, ask


@dataclass
class Connected:
    """An app with a live token."""

    vitals: Vitals
    app: App
    asked: list[tuple[bytes, bytes]]  # path and query of every request to the simulated Oura, byte for byte
    seen: set[str] = field(default_factory=set)

    async def send(self, body: tuple[bytes, ...], *more: tuple[bytes, bytes], hangs_up: bool = False) -> Answer:
        bearer = (b"authorization", f"Bearer {self.app.access_token}".encode())
        json = (b"content-type", b"application/json")
        answer = await ask(self.vitals.app, Request("POST", b"/mcp", (bearer, json, *more), body, hangs_up))
        self.seen |= {f"{answer.status}", *(["result"] if b'"result"' in answer.body else [])}
        # JSON-RPC's "internal error": something was not foreseen.
        assert b"-32603" not in answer.body, answer.body[:300]
        return answer
