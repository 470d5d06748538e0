"""Discovery: what apps read before anything else. Built once from the configured address, never from a Host header.

Each document is served at the origin's root and, as RFC 8414 and RFC 9728 insert it, with the resource's path behind
it: apps try one or the other first. Everything else under /.well-known is a JSON 404, because apps parse that answer.

Source: RFC 8414, RFC 9728, RFC 9207, draft-ietf-oauth-client-id-metadata-document; MCP authorization 2026-07-28.
"""

from collections.abc import Mapping

from authlib.oauth2 import rfc8414, rfc9207
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from app.authserver.clients.registration import GRANT_TYPES, RESPONSE_TYPES
from app.authserver.protocol.scopes import GRANTABLE, OFFLINE_SCOPE
from app.authserver.records import AUTH_METHODS

_HEADERS = {
    "Access-Control-Allow-Origin": "*",  # public documents, read by apps that run in a browser too
    "Cache-Control": "public, max-age=300",  # claude.ai caches discovery for about as long
}
_NOT_FOUND_HEADERS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}
_PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "86400",
}
_METHODS = ["GET", "HEAD", "OPTIONS"]
_ANY_METHOD = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]


def server_metadata(issuer: str) -> dict[str, object]:
    """Return the authorization server's metadata.

    Args:
        issuer: The public address without a slash at the end, exactly as `iss` will repeat it.

    Raises:
        ValueError: The address cannot be an issuer, such as http off loopback.
    """
    document: dict[str, object] = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "revocation_endpoint": f"{issuer}/revoke",
        "scopes_supported": [*GRANTABLE, OFFLINE_SCOPE],
        "response_types_supported": list(RESPONSE_TYPES),
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),  # without `none`, Claude would not use CIMD
        "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }
    rfc8414.AuthorizationServerMetadata(document).validate([rfc9207.AuthorizationServerMetadata])
    return document


def resource_metadata(issuer: str, resource: str) -> dict[str, object]:
    """Return the protected resource's metadata. `offline_access` is no business of the resource's."""
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "scopes_supported": list(GRANTABLE),
        "bearer_methods_supported": ["header"],
        "resource_name": "vitals",
    }


def metadata_routes(issuer: str, resource: str) -> list[BaseRoute]:
    """Return the routes under /.well-known."""
    path = resource.removeprefix(issuer)
    routes: list[BaseRoute] = []
    for name, document in (
        ("oauth-protected-resource", resource_metadata(issuer, resource)),
        ("oauth-authorization-server", server_metadata(issuer)),
    ):
        endpoint = _Document(document).answer
        # The last one is for people who type a slash behind the resource's address.
        routes += [Route(f"/.well-known/{name}{end}", endpoint, methods=_METHODS) for end in ("", path, f"{path}/")]
    return [*routes, Route("/.well-known/{rest:path}", _not_found, methods=_ANY_METHOD)]


class _Document:
    """Serves one document."""

    def __init__(self, document: Mapping[str, object]) -> None:
        self._document = document

    async def answer(self, request: Request) -> Response:
        """Answer GET, HEAD and a browser's preflight."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT_HEADERS)
        return JSONResponse(self._document, headers=_HEADERS)


async def _not_found(request: Request) -> Response:
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=_PREFLIGHT_HEADERS)
    return JSONResponse({"error": "not_found"}, status_code=404, headers=_NOT_FOUND_HEADERS)
