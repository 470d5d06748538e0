"""The one path that every tool call takes: caller, scope, arguments, tool, answer.

A tool is a `Definition`; `HealthTool` gives it to the SDK. Whatever is to hold for every tool (who asks, what the grant
allows, what a failure says, how an answer is written) stands in `HealthTool.answer`, so that no tool can forget it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from zoneinfo import ZoneInfo

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import PrivateAttr

from app.errors import BadRequest, NotPermitted, SourceError
from app.identity import CALLER, READ_SCOPE, Caller
from app.sources.base import Progress
from app.sources.registry import Sources
from app.sources.timed import within
from app.tools.arguments import Argument, Given, check, schema
from app.tools.failures import explain
from app.tools.rendering import Answer, written

Asked = ServerRequestContext[Any, Any]  # a request as the SDK hands it over

ASK_S: Final = 38.0  # for all questions of one call to its sources; what has arrived by then is the answer
# For the whole call, the writing of the answer included: hosts give up after 45 s and more (claude.ai 300 s, some
# gateways 60 s), and an answer in part is worth more than none. Above ASK_S, or nothing in part is ever written.
CALL_S: Final = 44.0


@dataclass(frozen=True, slots=True)
class Service:
    """What the tools work with."""

    sources: Sources
    answer_max_chars: int
    timezone: ZoneInfo | None  # the setting TIMEZONE
    now: Callable[[], float]  # unix seconds
    public_url: str
    version: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who asks, and whom to tell about progress."""

    caller: Caller
    progress: Progress
    service: Service


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool as this project writes it."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument[Any], ...]
    run: Callable[[Call, Given], Awaitable[Answer]]


class HealthTool(Tool):
    """A definition in the form the SDK calls."""

    _definition: Definition = PrivateAttr()
    _service: Service = PrivateAttr()

    @classmethod
    def of(cls, definition: Definition, service: Service) -> "HealthTool":
        """Wrap a definition."""
        tool = cls(
            fn=definition.run,
            name=definition.name,
            title=definition.title,
            description=definition.description,
            parameters=schema(definition.arguments),
            fn_metadata=FuncMetadata(arg_model=ArgModelBase),
            is_async=True,
            context_kwarg=None,
            annotations=ToolAnnotations(
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=True,  # it asks a service outside this server
            ),
        )
        tool._definition = definition
        tool._service = service
        return tool

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002  # the SDK's signature
    ) -> CallToolResult:
        """Answer one call, if the SDK makes it; `direct` asks for the answer itself."""
        return await self.answer(arguments, context.request_context)

    async def answer(self, arguments: dict[str, Any], asked: Asked) -> CallToolResult:
        """Answer one call. Never raises what a client could see: a failure is a result that says so."""
        try:
            caller = _caller(asked)
            given = check(self.name, self._definition.arguments, arguments)
            service = replace(self._service, sources=within(self._service.sources, ASK_S))
            call = Call(caller=caller, progress=_progress(asked), service=service)
            answer = await self._within_time(call, given)
            text = written(answer)
            if len(text) > self._service.answer_max_chars:
                raise BadRequest(f"the answer is {len(text)} characters, over this server's limit. Ask for less.")
        except Exception as failure:  # noqa: BLE001  # the edge: `explain` decides by class what may be said
            said = explain(failure, tool=self.name, page=f"{self._service.public_url}/connections")
            return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)

    async def _within_time(self, call: Call, given: Given) -> Answer:
        with anyio.move_on_after(CALL_S):
            return await self._definition.run(call, given)
        raise SourceError(f"no answer came about within {CALL_S:.0f} s. Ask for fewer days, or again in a minute.")


def _caller(asked: Asked) -> Caller:
    """Return who asks, and refuse if the grant does not cover reading.

    Raises:
        NotPermitted: Without a caller, or without the scope. Fail closed: the transport should have refused before.
    """
    scope = getattr(asked.request, "scope", None) or {}
    caller = scope.get(CALLER)
    if not isinstance(caller, Caller):
        raise NotPermitted("this request carries no proven identity. Connect the app to this server again.")
    if READ_SCOPE not in caller.scopes:
        raise NotPermitted(
            f"the owner's approval does not include {READ_SCOPE}. Connect the app again and approve it.",
            scope=READ_SCOPE,
        )
    return caller


def _progress(asked: Asked) -> Progress:
    async def report(done: int, expected: int | None, words: str) -> None:
        await asked.session.report_progress(done, expected, words)

    return report
