"""What each form of REDIS_URL leads to, without connecting."""

import pytest
from redis.asyncio.sentinel import SentinelConnectionPool, SentinelManagedConnection, SentinelManagedSSLConnection

from app.errors import SettingsError
from app.store.redis import RedisStore
from app.store.redis_address import pool
from tests.store.conftest import Clock

OPTIONS = {"max_connections": 3, "timeout": 1, "socket_timeout": 2.0, "socket_connect_timeout": 1.0}


def test_the_sentinels_their_password_and_the_primarys_are_told_apart() -> None:
    made = pool(
        "redis+sentinel://ada:p%40ss@a:1,b,[::1]:3/main/2?sentinel_password=theirs&health_check_interval=30", OPTIONS
    )

    assert isinstance(made, SentinelConnectionPool)
    assert made.service_name == "main"
    assert made.connection_class is SentinelManagedConnection
    sentinels = [each.connection_pool.connection_kwargs for each in made.sentinel_manager.sentinels]
    assert [(each["host"], each["port"]) for each in sentinels] == [("a", 1), ("b", 26379), ("::1", 3)]
    assert {each["password"] for each in sentinels} == {"theirs"}
    assert {each["socket_timeout"] for each in sentinels} == {2.0}
    ours = made.connection_kwargs
    assert (ours["username"], ours["password"], ours["db"], ours["health_check_interval"]) == ("ada", "p@ss", 2, 30)
    assert made.max_connections == 3


def test_tls_is_spoken_to_the_sentinels_and_to_the_primary() -> None:
    made = pool("rediss+sentinel://:secret@a:1/main?ssl_ca_certs=/ca.pem", OPTIONS)

    assert made.connection_class is SentinelManagedSSLConnection
    assert isinstance(made, SentinelConnectionPool)
    [sentinel] = made.sentinel_manager.sentinels
    assert sentinel.connection_pool.connection_class.__name__ == "SSLConnection"
    assert (
        sentinel.connection_pool.connection_kwargs["ssl_ca_certs"]
        == made.connection_kwargs["ssl_ca_certs"]
        == "/ca.pem"
    )
    assert sentinel.connection_pool.connection_kwargs.get("password") is None, "the primary's is not theirs"


@pytest.mark.parametrize(
    "url",
    ["redis+sentinel://:hunter2@a:1", "redis+sentinel://:hunter2@a/main/x", "redis+sentinel://:hunter2@,/main"],
)
def test_an_address_of_sentinels_that_is_not_whole_is_refused_without_being_shown(url: str, clock: Clock) -> None:
    with pytest.raises(SettingsError, match="REDIS_URL") as refusal:
        RedisStore(url, now=clock)

    assert "hunter2" not in str(refusal.value)
