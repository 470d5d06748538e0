"""What a model reads that calls a tool which does not exist, or in a form that is no call.

The SDK repeats the name and says nothing else, or says that something was invalid and not what.
"""

from collections.abc import Sequence
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from app.tools.arguments import meant, quoted
from app.tools.calling import Asked

_MALFORMED: Final = "A call needs a name, which is a text, and arguments, which are one JSON object. Nothing was done."


class Misnamed:
    """Middleware of the SDK's server: puts these two failures of `tools/call` into words, and passes all else on.

    Args:
        tools: Names of those that are offered.
    """

    def __init__(self, tools: Sequence[str]) -> None:
        self._tools = tuple(tools)

    async def __call__(self, ctx: Asked, call_next: CallNext) -> HandlerResult:
        """Pass on, and answer in words what names nothing.

        Raises:
            MCPError: The call is malformed.
        """
        if ctx.method != "tools/call":
            return await call_next(ctx)
        params = ctx.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise MCPError(code=INVALID_PARAMS, message=_MALFORMED)
        result = await call_next(ctx)
        if name in self._tools or not isinstance(result, dict):
            return result
        return {**result, "content": self._unknown(name)}  # with all that its era puts around it

    def _unknown(self, name: str) -> list[dict[str, Any]]:
        guess = meant(name, self._tools)
        hint = f" Did you mean {guess}?" if guess else ""
        text = f"Not answered: there is no tool {quoted(name)} here.{hint} There are {', '.join(self._tools)}."
        return [{"type": "text", "text": text}]
