"""Each failure of Redis is named for whoever runs this, with what to do, and with nothing of the address."""

import ssl

import pytest
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
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
from app.store.redis_faults import unavailable

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
