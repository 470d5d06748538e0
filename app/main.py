"""From settings to a running application: the parts behind their addresses, opened at the start, closed at the end."""

import gc
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import httpx2
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE

from app import __version__, logs
from app.authserver.signin import SignIn
from app.errors import VitalsError
from app.parts import Parts, build_parts
from app.readiness import looked_after
from app.settings import Settings, load_settings
from app.sources.oura.account import account
from app.store.base import Store
from app.tools.server import build_mcp
from app.tools.transport import McpAsgi
from app.web.app import build_web
from app.web.guard import MCP_BODY_BYTES
from app.web.heads import STOPPING
from app.web.owner import OwnerPages
from app.web.pages import Pages, static_routes

log = logs.get(__name__)


def from_environment() -> Starlette:
    """Build the application of one process; uvicorn calls this in each worker.

    Raises:
        SystemExit: It cannot start; the log says why, and uvicorn does not start the worker again.
    """
    try:
        settings = load_settings(os.environ)
        logs.configure(level=settings.log_level, style=settings.log_format)
        built = build_app(settings)
    except VitalsError as exc:
        log.error("start_refused", reason=str(exc))  # our own texts carry no secret
        raise SystemExit(STARTUP_FAILURE) from None
    # What is there now stays to the end. Left among what is examined for garbage, it makes each full examination stop
    # the event loop for a tenth of a second.
    gc.freeze()
    gc.enable()  # off since `vitals serve` began
    return built


def build_app(
    settings: Settings,
    *,
    now: Callable[[], float] = time.time,
    http: httpx2.AsyncClient | None = None,
    store: Store | None = None,
) -> Starlette:
    """Build the application; what it holds is opened by its lifespan.

    Args:
        settings: As read at the start.
        now: Unix seconds.
        http: For calls to sources; None makes one.
        store: None chooses what the settings name.

    Raises:
        SettingsError: The kept key or the store's address cannot be used.
        StoreUnavailable: The store's file cannot be opened.
    """
    return assemble(build_parts(settings, now=now, http=http, store=store))


def assemble(parts: Parts) -> Starlette:
    """Put built parts behind their addresses."""
    settings, public_url = parts.settings, parts.settings.public_url
    oauth = None if settings.oura_sandbox else parts.oauth
    pages = Pages(public_url=public_url, sandbox=settings.oura_sandbox)
    signin = SignIn(
        authserver=parts.authserver,
        oauth=oauth,
        account=partial(account, parts.http, settings.oura_api_url),
        connections=parts.connections,
        store=parts.store,
        keys=parts.keys,
        owners=settings.owners,
        public_url=public_url,
        render=pages,
        now=parts.now,
        timezone=settings.timezone.key if settings.timezone else None,
    )
    owner_pages = OwnerPages(
        signin=signin,
        grants=parts.authserver.grants,
        connections=parts.connections,
        oauth=oauth,
        pages=pages,
        public_url=public_url,
        scopes=settings.oura_scopes,
    )
    server = build_mcp(
        sources=parts.sources,
        answer_max_chars=settings.answer_max_chars,
        timezone=settings.timezone,
        now=parts.now,
        public_url=public_url,
        version=__version__,
        chatgpt_tools=settings.chatgpt_tools,
    )
    mcp = McpAsgi(server, max_body_bytes=MCP_BODY_BYTES)
    return build_web(
        public_url=public_url,
        mcp=mcp,
        verify=parts.authserver.verifier.verify,
        ping=parts.store.ping,
        version=__version__,
        pages=pages,
        routes=[*parts.authserver.routes(), *signin.routes(), *owner_pages.routes(), *static_routes()],
        lifespan=partial(_open, parts, mcp),
    )


@asynccontextmanager
async def _open(parts: Parts, mcp: McpAsgi, _app: Starlette) -> AsyncIterator[dict[str, object]]:
    """Refuse to start with a store that cannot be used; at the end, finish what must not be cut: a renewal."""
    settings = parts.settings
    stack = AsyncExitStack()
    try:
        await stack.enter_async_context(looked_after(parts))
    except VitalsError as exc:
        log.error("start_refused", reason=str(exc))
        await parts.aclose()
        raise
    try:
        async with stack, mcp.run():
            log.info(
                "started",
                version=__version__,
                public_url=settings.public_url,
                store="redis" if settings.redis_url.get_secret_value() else "sqlite",
                sandbox=settings.oura_sandbox,
            )
            yield {STOPPING: parts.stopping}
    finally:
        log.info("stopping")
        await parts.rotation.drain()
        await parts.aclose()
        log.info("stopped")
