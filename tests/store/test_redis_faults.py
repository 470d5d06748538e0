"""Each failure of Redis is named for whoever runs this, with what to do, and with nothing of the address."""

import ssl

import pytest
from redis.asyncio.sentinel import MasterNotFoundError
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    InvalidResponse,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from app.errors import Outage
from app.store.redis_faults import Asked, unavailable

ADDRESS = "canary.example:6379"


def caused(cause: BaseException) -> RedisConnectionError:
    error = RedisConnectionError(f"Error connecting to {ADDRESS}")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("exc", "outage", "words"),
    [
        pytest.param(OutOfMemoryError(ADDRESS), "full", "full (OOM)", id="full"),
        pytest.param(ReadOnlyError(ADDRESS), "read_only", "is a replica", id="replica"),
        pytest.param(
            RedisConnectionError("The previous master is now a slave"), "read_only", "is a replica", id="demoted"
        ),
        pytest.param(ResponseError(f"MISCONF {ADDRESS}"), "read_only", "write to its disk", id="its disk fails"),
        pytest.param(ResponseError(f"NOREPLICAS {ADDRESS}"), "read_only", "too few replicas", id="too few replicas"),
        pytest.param(AuthenticationError(ADDRESS), "unusable", "refuses the user or password", id="password"),
        pytest.param(NoPermissionError(ADDRESS), "unusable", "NOPERM", id="right"),
        pytest.param(
            ResponseError(f"The user executing the script can't run this command {ADDRESS}"),
            "unusable",
            "NOPERM",
            id="right inside a script",
        ),
        pytest.param(ResponseError(f"unknown command 'GETDEL' {ADDRESS}"), "unusable", "6.2 or newer", id="too old"),
        pytest.param(MovedError(f"42 {ADDRESS}"), "unusable", "not clustered", id="cluster"),
        pytest.param(MasterDownError(ADDRESS), "unreachable", "lost its primary", id="primary lost"),
        pytest.param(BusyLoadingError(ADDRESS), "unreachable", "still loading", id="loading"),
        pytest.param(RedisTimeoutError(ADDRESS), "unreachable", "TimeoutError", id="hangs"),
        pytest.param(caused(ConnectionRefusedError(ADDRESS)), "unreachable", "refused", id="refused"),
        pytest.param(caused(ssl.SSLError(1, ADDRESS)), "unusable", "redis:// or rediss://", id="no TLS there"),
        pytest.param(ResponseError(ADDRESS), "unreachable", "refused a command", id="anything else"),
    ],
)
def test_a_failure_has_its_words_and_kind_and_shows_no_address(exc: Exception, outage: Outage, words: str) -> None:
    failure = unavailable(exc)

    assert failure.outage == outage
    assert words in str(failure)
    assert "canary" not in str(failure)
    assert len(str(failure)) <= 400, "a log line holds 500 characters"


NONE_YET = Asked(database=7, password=False, tls=True, before=False)


@pytest.mark.parametrize(
    ("exc", "asked", "outage", "words"),
    [
        pytest.param(AuthenticationError(ADDRESS), NONE_YET, "unusable", "REDIS_URL has none", id="no password given"),
        pytest.param(ResponseError("DB index is out of range"), NONE_YET, "unusable", "no database 7", id="database"),
        pytest.param(ResponseError("unknown command 'SENTINEL'"), NONE_YET, "unusable", "no Sentinels", id="sentinel"),
        pytest.param(
            MasterNotFoundError(f"{ADDRESS} - auth:AuthenticationError"),
            NONE_YET,
            "unreachable",
            "?sentinel_password=",
            id="password of the Sentinels",
        ),
        pytest.param(InvalidResponse(ADDRESS), NONE_YET, "unusable", "is no Redis.", id="no Redis"),
        pytest.param(InvalidResponse(ADDRESS), Asked(), "unusable", "wants TLS (rediss://)", id="no Redis, or TLS"),
        pytest.param(RedisTimeoutError(ADDRESS), NONE_YET, "unreachable", "write redis:// there", id="no TLS there"),
        pytest.param(
            RedisConnectionError("Connection closed by server."),
            Asked(before=False),
            "unreachable",
            "wants TLS: rediss://",
            id="TLS there",
        ),
    ],
)
def test_what_was_asked_for_tells_apart_what_fails_alike(
    exc: Exception, asked: Asked, outage: Outage, words: str
) -> None:
    failure = unavailable(exc, asked)

    assert failure.outage == outage
    assert words in str(failure)
    assert "canary" not in str(failure)


@pytest.mark.parametrize("tls", [True, False])
def test_a_redis_that_has_answered_before_is_not_doubted(tls: bool) -> None:
    for exc in (RedisTimeoutError(ADDRESS), RedisConnectionError("Connection closed by server.")):
        assert str(unavailable(exc, Asked(tls=tls))).endswith("REDIS_URL is right.")
