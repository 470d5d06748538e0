"""Who is asking at `/mcp`: a bearer token in the Authorization header, or 401 before anything else is looked at."""

import re
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app import logs
from app.authserver.issued.verify import TokenInvalid
from app.identity import CALLER, READ_SCOPE, Caller
from app.web.replies import problem

log = logs.get(__name__)

_SCHEME = re.compile(r"bearer(?: |$)", re.IGNORECASE)
_BEGIN = (
    "Sign in first: this is the address for apps, and an app that is given it signs in by itself. The first page of "
    "this server says how to connect one."
)
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")  # RFC 6750 section 2.1, b64token


class Bearer:
    """Lets a request through only with a live token for this resource, and puts its `Caller` in the scope.

    The challenge names where to learn how to get a token, and `error` only if one was sent: clients take the bare form
    for "not signed in yet". A token in the query is never looked at. A failure of the store is passed on: fail closed.

    Source: RFC 6750 section 3, RFC 9728 section 5.1, MCP 2025-11-25 and 2026-07-28, Authorization.
    """

    def __init__(self, app: ASGIApp, *, verify: Callable[[str], Awaitable[Caller]], metadata_url: str) -> None:
        self.app = app
        self.verify = verify
        self.metadata_url = metadata_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever its method, body and Accept."""
        sent = Headers(scope=scope).getlist("authorization")
        if not any(_SCHEME.match(value.strip()) for value in sent):
            await self._refuse(401, "unauthorized", _BEGIN, challenge="")(scope, receive, send)
            return
        token = sent[0].strip()[len("bearer") :].strip()
        try:
            if len(sent) != 1 or not _TOKEN.fullmatch(token):
                raise TokenInvalid("unknown")
            caller = await self.verify(token)
        except TokenInvalid as exc:
            log.info("token_refused", reason=exc.reason)
            error, why = (
                "invalid_token",
                "The access token is unknown, expired, for another resource, or ended by the owner; connect again.",
            )
            await self._refuse(401, error, why, challenge=error)(scope, receive, send)
            return
        if READ_SCOPE not in caller.scopes:
            error, why = (
                "insufficient_scope",
                f"The access token does not include {READ_SCOPE}; connect again and ask for it.",
            )
            scopes = " ".join(sorted(caller.scopes | {READ_SCOPE}))  # clients replace what they hold by what is named
            await self._refuse(403, error, why, challenge=error, scopes=scopes)(scope, receive, send)
            return
        scope[CALLER] = caller
        await self.app(scope, receive, send)

    def _refuse(self, status: int, error: str, why: str, *, challenge: str, scopes: str = READ_SCOPE) -> ASGIApp:
        header = f'Bearer resource_metadata="{self.metadata_url}", scope="{scopes}"'
        if challenge:
            header += f', error="{challenge}", error_description="{why}"'
        return problem(status, error, why, {"www-authenticate": header})
