"""Resources: the pages of `reference` under `vitals://`, and the error that each era expects for any other."""

from dataclasses import dataclass
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import TextResource
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from app.sources.registry import Sources
from app.tools.about.reference import ABOUT, catalog_page, page_of

ABOUT_URI: Final = "vitals://about"
CATALOG_URI: Final = "vitals://catalog"
COLLECTION_URI: Final = "vitals://collections/{name}"
NOT_FOUND_BEFORE_2026: Final = -32002  # MCP 2025-11-25, "Resource not found"; SEP-2164 replaced it by -32602
_PAGE: Final = "text/markdown"
_LONGEST_SHOWN = 100  # characters of an unknown name, address or method that are repeated


def add_resources(server: MCPServer[Any], sources: Sources) -> None:
    """Give the server its pages. Only two are listed; the catalogue names those of the template."""
    server.add_resource(
        TextResource(
            uri=ABOUT_URI,
            name="about",
            title="About this connector",
            description="What it is, which day a record belongs to, and how to read an answer.",
            mime_type=_PAGE,
            text=ABOUT,
        )
    )
    server.add_resource(
        TextResource(
            uri=CATALOG_URI,
            name="catalog",
            title="All collections",
            description="Every collection with what it carries, the days it is filed by, and its fields.",
            mime_type=_PAGE,
            text=catalog_page(sources),
        )
    )

    @server.resource(
        COLLECTION_URI,
        name="collection",
        title="One collection",
        description="One collection in full: fields with kind, unit and meaning. Names are in vitals://catalog.",
        mime_type=_PAGE,
    )
    def collection(name: str) -> str:
        page = page_of(sources, name)
        if page is None:
            raise ResourceNotFoundError(f"There is no collection {_shown(name)!r}. {CATALOG_URI} lists them.")
        return page


def _shown(sent: str) -> str:
    return sent if len(sent) <= _LONGEST_SHOWN else sent[:_LONGEST_SHOWN] + "…"


def _unknown(said: str, uri: str) -> str:
    """Return our own text as it is; that of the SDK repeats the address, and nothing else."""
    if uri not in said:
        return said
    pages = f"{ABOUT_URI}, {CATALOG_URI}, and vitals://collections/NAME for each collection"
    return f"There is no page {_shown(uri)!r}. There are {pages}."


@dataclass(frozen=True, slots=True)
class EraErrors:
    """Middleware of the SDK's server: an unknown resource or prompt is answered with the code its client expects.

    The SDK answers an unknown resource in the way of 2026 to everyone, and an unknown prompt with code 0 and a
    traceback in the log.
    """

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Pass on, and put right what comes back as an error."""
        try:
            return await call_next(ctx)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                raise MCPError(code=error.code, message=error.message, data=ctx.method[:_LONGEST_SHOWN]) from None
            uri = error.data.get("uri") if isinstance(error.data, dict) else None
            if ctx.method != "resources/read" or error.code != INVALID_PARAMS or not isinstance(uri, str):
                raise
            code = INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else NOT_FOUND_BEFORE_2026
            raise MCPError(code=code, message=_unknown(error.message, uri), data={"uri": _shown(uri)}) from None
        except ValidationError:
            raise
        except ValueError as error:
            if ctx.method != "prompts/get":
                raise
            raise MCPError(code=INVALID_PARAMS, message=str(error)[:200]) from None
