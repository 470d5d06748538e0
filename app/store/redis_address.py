"""From `REDIS_URL` to a pool of connections: one server, or whichever server the Sentinels name as primary.

    redis://user:password@host:6379/0            rediss:// for TLS, unix:// for a socket
    redis+sentinel://user:password@host-a:26379,host-b:26379/NAME/0      rediss+sentinel:// for TLS to all of them

Behind Sentinels, user and password are the primary's; `?sentinel_username=` and `?sentinel_password=` are theirs.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis.asyncio import BlockingConnectionPool, SSLConnection
from redis.asyncio.connection import parse_url
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.asyncio.sentinel import SentinelManagedConnection as Managed
from redis.asyncio.sentinel import SentinelManagedSSLConnection as ManagedSSL

from app.store.redis_faults import Asked

_SENTINEL = "+sentinel"
_SENTINEL_PORT = 26379
_FOR_SENTINELS = frozenset({"socket_connect_timeout", "socket_timeout", "retry", "maint_notifications_config"})


class _PrimaryPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to whoever is primary; like every pool of ours it lets callers wait for a free one."""

    async def aclose(self) -> None:
        """Give back connections, those to the Sentinels too."""
        await super().aclose()
        await self.sentinel_manager.aclose()


def pool(url: str, options: Mapping[str, Any]) -> BlockingConnectionPool:
    """Make the pool for an address.

    Args:
        url: `REDIS_URL`.
        options: For every connection: deadlines, retries, how many.

    Raises:
        ValueError: It is not such an address; the text may quote it.
    """
    parts = urlsplit(url)
    if not parts.scheme.endswith(_SENTINEL):
        return BlockingConnectionPool.from_url(url, **options)
    credentials, _, hosts = parts.netloc.rpartition("@")
    name, _, database = parts.path.strip("/").partition("/")
    sentinels = [_host(each) for each in hosts.split(",")]
    if not name or (database and not database.isdecimal()):
        raise ValueError("The address must end with the name of the primary: …/NAME, or …/NAME/0.")
    query = dict(parse_qsl(parts.query))
    theirs = {key: query.pop(f"sentinel_{key}") for key in ("username", "password") if f"sentinel_{key}" in query}
    user, _, password = credentials.partition(":")
    ours = {key: unquote(value) for key, value in (("username", user), ("password", password)) if value}
    tls = parts.scheme.startswith("rediss")
    # redis-py reads the numbers and switches of a query (`ssl_ca_certs`, `health_check_interval`) by their names.
    common: dict[str, Any] = dict(parse_url("redis://?" + urlencode(query)))
    asking = {key: value for key, value in options.items() if key in _FOR_SENTINELS}
    manager = Sentinel(  # type: ignore[no-untyped-call]  # redis-py's own
        sentinels, sentinel_kwargs={**common, **asking, **theirs, **({"ssl": True} if tls else {})}
    )
    return _PrimaryPool(  # type: ignore[no-untyped-call]  # likewise
        name,
        manager,
        connection_class=ManagedSSL if tls else Managed,
        **{**common, **ours, **options, "db": int(database or 0)},
    )


def asked(made: BlockingConnectionPool) -> Asked:
    """Return what a failure may name of the address that a pool was made for, before anything has answered there."""
    options = made.connection_kwargs
    return Asked(
        database=options.get("db") or 0,
        password=bool(options.get("password")),
        tls=issubclass(made.connection_class, SSLConnection),
        before=False,
    )


def _host(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("A Sentinel has no host.")
    return parts.hostname, parts.port or _SENTINEL_PORT
