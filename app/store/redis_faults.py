"""What redis-py's failures mean for us, in words that name neither the address nor the password."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from redis.asyncio.sentinel import MasterNotFoundError
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterCrossSlotError,
    ClusterDownError,
    InvalidResponse,
    LockError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from app.errors import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Asked:
    """What of `REDIS_URL` a failure may name, and what tells two causes apart."""

    database: int = 0
    password: bool = True  # it has one
    tls: bool = False
    before: bool = True  # something that answered as Redis does was met there


def unavailable(exc: BaseException, asked: Asked = Asked()) -> StoreUnavailable:
    """Return our error for one of redis-py's. Its own text is not used: it quotes the address."""
    name = type(exc).__name__
    if isinstance(exc, OutOfMemoryError):
        return StoreUnavailable(
            "Redis is full (OOM): it refuses to write. Raise its maxmemory or make room; reading goes on.",
            outage="full",
        )
    if isinstance(exc, ReadOnlyError) or str(exc) == _DEMOTED:
        return StoreUnavailable(
            "Redis is a replica and takes no writes (READONLY): it was demoted, or REDIS_URL does not lead to the "
            "primary. Connections are made anew until one does.",
            outage="read_only",
        )
    if isinstance(exc, AuthenticationError | AuthorizationError):
        return _unusable(_about_credentials(exc, asked))
    if isinstance(exc, NoPermissionError):
        return _not_permitted()
    if isinstance(exc, MovedError | ClusterCrossSlotError):
        return _unusable("REDIS_URL leads to a node of a Redis Cluster. Use a Redis or Valkey that is not clustered.")
    if isinstance(exc, MasterDownError | ClusterDownError | MasterNotFoundError):
        return _without_primary(exc)
    if isinstance(exc, ResponseError) and not isinstance(exc, LockError):
        return _refused(str(exc), name, asked)
    return _unanswered(exc, asked)


def _unanswered(exc: BaseException, asked: Asked) -> StoreUnavailable:
    if any(isinstance(each, ssl.SSLError) for each in _causes(exc)):
        return _unusable(_about_tls(exc))
    if isinstance(exc, InvalidResponse):
        return _unusable(_no_redis(asked))
    return StoreUnavailable(
        f"Redis did not answer ({_why(exc)}). Check that it runs and that REDIS_URL is right.{_perhaps(exc, asked)}",
    )


def _about_credentials(exc: BaseException, asked: Asked) -> str:
    if not asked.password and isinstance(exc, AuthenticationError):
        return "Redis wants a password, and REDIS_URL has none. Write it there: redis://:PASSWORD@HOST:6379/0."
    return f"Redis refuses the user or password in REDIS_URL ({type(exc).__name__}). Put the right ones there."


def _without_primary(exc: BaseException) -> StoreUnavailable:
    if not isinstance(exc, MasterNotFoundError):
        name = type(exc).__name__
        return StoreUnavailable(f"Redis has lost its primary ({name}). It comes back with the next one.")
    if AuthenticationError.__name__ in str(exc):  # of the Sentinels, each failure by its class
        return StoreUnavailable(
            "The Sentinels in REDIS_URL refuse their password, or want one. Put it at the end: "
            "?sentinel_password=PASSWORD. If they are no Sentinels, write redis:// instead of redis+sentinel://."
        )
    return StoreUnavailable("No Sentinel in REDIS_URL names a primary. Check that they run, and the name asked for.")


def _no_redis(asked: Asked) -> str:
    other = "" if asked.tls else ", or a Redis that wants TLS (rediss://)"
    return f"What answers at REDIS_URL is no Redis{other}. Check the host and the port there."


def _perhaps(exc: BaseException, asked: Asked) -> str:
    """Name what a first attempt looks like that speaks, or does not speak, TLS to a port of the other kind."""
    silent, closed = isinstance(exc, RedisTimeoutError), str(exc) == _CLOSED
    if asked.before or not (silent or closed):
        return ""
    if asked.tls:
        return " If it does not speak TLS, write redis:// there."
    return " It may be no Redis, or one that wants TLS: rediss://." if closed else ""


def _refused(said: str, name: str, asked: Asked) -> StoreUnavailable:
    """Sort out what redis-py has no class for, by the words that the protocol fixes."""
    word = said.partition(" ")[0]
    if word == "MISCONF":
        return StoreUnavailable(
            "Redis cannot write to its disk and so takes no writes (MISCONF). Mend its disk; its log says what failed.",
            outage="read_only",
        )
    if word == "NOREPLICAS":
        return StoreUnavailable(
            "Redis has too few replicas and so takes no writes (NOREPLICAS, min-replicas-to-write).", outage="read_only"
        )
    if "user executing the script can't" in said or "ACL failure in script" in said:
        return _not_permitted()
    if "DB index" in said:
        return _unusable(
            f"Redis has no database {asked.database}. Put another number at the end of REDIS_URL; 0 is always there."
        )
    if said.startswith("unknown command") and "SENTINEL" in said:
        return _unusable(
            "The hosts in REDIS_URL are no Sentinels. For a Redis itself write redis:// there, not redis+sentinel://."
        )
    if said.startswith("unknown command"):
        return _unusable("Redis does not know a command that vitals needs. Use Redis 6.2 or newer, or Valkey.")
    return StoreUnavailable(f"Redis refused a command ({name}). Check that REDIS_URL leads to a Redis or Valkey.")


def _not_permitted() -> StoreUnavailable:
    return _unusable(
        "Redis does not let the user in REDIS_URL do what vitals needs (NOPERM). Give it the rights that "
        "deploy/STORAGE.md lists."
    )


def _about_tls(exc: BaseException) -> str:
    for each in _causes(exc):
        if isinstance(each, ssl.SSLCertVerificationError):
            return (
                f"The certificate of Redis is not accepted ({each.verify_message}). With a certificate authority of "
                "your own, add ?ssl_ca_certs=/path/to/ca.pem to REDIS_URL."
            )
    return "Redis did not speak TLS as it should. Check whether REDIS_URL must begin with redis:// or rediss://."


def _why(exc: BaseException) -> str:
    for each in _causes(exc):
        if isinstance(each, socket.gaierror):
            return "its name is not known"
        if isinstance(each, ConnectionRefusedError):
            return "the connection was refused"
        if isinstance(each, BusyLoadingError):
            return "it is still loading its data"
    return type(exc).__name__


def _unusable(text: str) -> StoreUnavailable:
    return StoreUnavailable(text, outage="unusable")


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if exc is None:
            return
        yield exc
        exc = exc.__cause__ or exc.__context__


_CLOSED = "Connection closed by server."  # redis-py's words
_DEMOTED = "The previous master is now a slave"  # what redis-py makes of READONLY behind a Sentinel
