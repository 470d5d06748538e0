"""A token endpoint as Oura's: a refresh token works once, and using it again ends the whole family."""

from collections.abc import Awaitable, Callable

import anyio

from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshMisconfigured, RefreshRefused, TokenAnswer

TOKEN_URL = "https://source.example/token"
SCOPES = frozenset({"daily", "heartrate"})


class SingleUse:
    """Answers at once, unless a test takes `answer` away or plans faults."""

    def __init__(self) -> None:
        self.valid = "refresh-0"
        self.alive = True
        self.presented: list[str] = []
        self.given_back: list[tuple[str, str | None]] = []
        self.sent = anyio.Event()
        self.answer = anyio.Event()
        self.answer.set()
        self.faults: list[str] = []  # for the next calls, in order
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def refresh(self, refresh_token: str, *, token_url: str) -> TokenAnswer:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "not sent":
            raise NotSent("No connection to the token endpoint.")
        self.presented.append(refresh_token)
        self.sent.set()
        await self.answer.wait()
        if self.meanwhile is not None:
            await self.meanwhile()
        await self._fail_before(fault)
        if not self.alive or refresh_token != self.valid:
            self.alive = False
            raise RefreshRefused("The token endpoint answered 400 invalid_grant.")
        n = len(self.presented)
        self.valid = f"refresh-{n}"
        match fault:
            case "cut":
                raise OutcomeUnknown("The connection was cut before the answer.")
            case "garbage":
                raise ValueError("an answer that nobody can read")
            case "bare":
                return TokenAnswer(f"access-{n}", None, 86_400, None, token_url)
        return TokenAnswer(f"access-{n}", self.valid, 86_400, SCOPES, token_url)

    async def revoke(self, *, access_token: str, refresh_token: str | None) -> bool:
        self.given_back.append((access_token, refresh_token))
        return True

    async def _fail_before(self, fault: str) -> None:
        match fault:
            case "misconfigured":
                raise RefreshMisconfigured("The token endpoint answered 401 invalid_client.")
            case "500":
                raise OutcomeUnknown("The token endpoint answered 500.")
            case "hangs":
                await anyio.sleep_forever()
            case "refused":
                self.alive = False
