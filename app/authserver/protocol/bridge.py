"""Between Authlib, which is synchronous, and the async store: one worker thread per protocol request.

In that thread Authlib's hooks call `wait`, which runs a coroutine on the event loop and blocks only the thread. The
threads are counted apart from everyone else's: a store that needs a thread of its own must never wait for one of ours.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, TypeVarTuple, Unpack

import anyio
import anyio.from_thread
import anyio.to_thread
from authlib.oauth2.rfc6749 import JsonRequest, OAuth2Payload, OAuth2Request

from app.errors import StoreUnavailable

Result = TypeVar("Result")
Args = TypeVarTuple("Args")

_AT_ONCE = 20
_DEADLINE_S = 20.0  # must exceed the few store calls of one request, each of which gives up after about 5 s


@dataclass(frozen=True, slots=True)
class Answer:
    """What a protocol endpoint answers."""

    status: int
    body: Mapping[str, object]
    headers: Sequence[tuple[str, str]] = ()


class Bridge:
    """Runs Authlib's endpoints in worker threads."""

    def __init__(self) -> None:
        self._places = anyio.CapacityLimiter(_AT_ONCE)

    async def run(self, work: Callable[[Unpack[Args]], Result], *args: *Args) -> Result:
        """Run `work` in a thread, to its end even if the request is cancelled: no rotation is cut in two on purpose.

        Raises:
            StoreUnavailable: It did not end in time.
        """
        try:
            # Said here, though a thread is never abandoned: what it waits for on the event loop would be cancelled.
            with anyio.fail_after(_DEADLINE_S, shield=True):
                return await anyio.to_thread.run_sync(work, *args, limiter=self._places)
        except TimeoutError:
            raise StoreUnavailable(f"The store did not answer within {_DEADLINE_S:g} seconds.") from None


def wait(work: Callable[[Unpack[Args]], Coroutine[Any, Any, Result]], *args: *Args) -> Result:
    """Run a coroutine function on the event loop and return its result; only inside `Bridge.run`."""
    return anyio.from_thread.run(work, *args)


class Payload(OAuth2Payload):  # type: ignore[misc]  # Authlib ships no types
    """Parameters in the order they came. A parameter without a value counts as not sent (RFC 6749 section 3.1)."""

    def __init__(self, parameters: Sequence[tuple[str, str]]) -> None:
        self._lists: dict[str, list[str]] = {}
        for name, value in parameters:
            if value:
                self._lists.setdefault(name, []).append(value)

    @property
    def data(self) -> dict[str, str]:
        """The first value of each parameter; repeated ones are refused before Authlib sees them."""
        return {name: values[0] for name, values in self._lists.items()}

    @property
    def datalist(self) -> dict[str, list[str]]:
        """All values of each parameter."""
        return self._lists


class FormRequest(OAuth2Request):  # type: ignore[misc]  # Authlib ships no types
    """A request as Authlib wants it, always at our public address: Authlib refuses http, but for loopback."""

    def __init__(
        self, method: str, url: str, parameters: Sequence[tuple[str, str]], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(method, url, headers=headers)
        self.payload = Payload(parameters)

    @property
    def form(self) -> dict[str, str]:
        """The parameters of the body; this server reads none from anywhere else."""
        return self.payload.data


class BodyRequest(JsonRequest):  # type: ignore[misc]  # Authlib ships no types
    """A registration request; `payload.data` is the parsed JSON body."""

    def __init__(self, url: str, body: object) -> None:
        super().__init__("POST", url)
        self.payload = JsonBody(body)


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A parsed JSON body under the name that Authlib looks for."""

    data: object = field(repr=False)
