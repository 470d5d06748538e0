"""Answers a `tools/call` in a middleware of the SDK, with the same JSON as the SDK would send.

On its own way the SDK makes a context of each call, and of its result a model, plain data, a model of the era and plain
data again: a third of what a call costs that asks no source. What comes before and after is the SDK's as ever:
transport, envelope, the judging of the request against the schema of its era, JSON-RPC.
"""

from collections.abc import Sequence
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp_types import SERVER_INFO_META_KEY, CallToolResult, Implementation, TextContent
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from app.tools.calling import Asked, HealthTool

_METHOD: Final = "tools/call"


class ToolCalls:
    """Middleware of the SDK's server: calls of our tools are answered here, all else is passed on.

    Args:
        tools: Those that are offered.
        introduction: What the server says of itself; since 2026 every result carries it.
    """

    def __init__(self, tools: Sequence[HealthTool], introduction: Implementation) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._stamp = {SERVER_INFO_META_KEY: introduction.model_dump(by_alias=True, mode="json", exclude_none=True)}

    async def __call__(self, ctx: Asked, call_next: CallNext) -> HandlerResult:
        """Answer, or pass on.

        Raises:
            ValidationError: The request is malformed; the SDK answers this as where it finds it itself.
        """
        if ctx.method != _METHOD or ctx.params is None:
            return await call_next(ctx)
        validate_client_request(_METHOD, ctx.protocol_version, ctx.params)
        tool = self._tools.get(ctx.params["name"])
        if tool is None:
            return await call_next(ctx)
        result = await tool.answer(dict(ctx.params.get("arguments") or {}), ctx)
        said = _on_the_wire(result)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            said |= {"resultType": result.result_type, "_meta": self._stamp}
        return said


def _on_the_wire(result: CallToolResult) -> dict[str, Any]:
    content = [{"type": "text", "text": part.text} for part in result.content if isinstance(part, TextContent)]
    said: dict[str, Any] = {"content": content, "isError": result.is_error}
    if result.structured_content is not None:
        said["structuredContent"] = result.structured_content
    return said
