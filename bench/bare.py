"""The measure of calls, start and memory: the bare SDK server, `python -m bench.bare PORT`.

It runs on uvloop and httptools, and has one tool that answers a constant and a verifier that lets everyone in.
"""

import sys

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response


class Anyone:
    """A verifier that asks nobody."""

    async def verify_token(self, token: str) -> AccessToken:
        """Let everyone in."""
        return AccessToken(token=token, client_id="bench", scopes=["health:read"])


def build(url: str) -> MCPServer:
    """Return the server."""
    server = MCPServer(
        "bare",
        token_verifier=Anyone(),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(url), resource_server_url=AnyHttpUrl(f"{url}/mcp"), validate_token_resource=False
        ),
        log_level="WARNING",
    )

    @server.tool()
    async def constant() -> CallToolResult:
        """Answer a constant."""
        return CallToolResult(content=[TextContent(type="text", text='{"n":1}')], structured_content={"n": 1})

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    server.custom_route("/healthz", methods=["GET"])(health)
    return server


def main() -> None:
    """Serve on loopback."""
    port = int(sys.argv[1])
    app = build(f"http://127.0.0.1:{port}").streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(
        app, port=port, log_level="warning", access_log=False, ws="none", loop="uvloop", http="httptools", lifespan="on"
    )


if __name__ == "__main__":
    main()
