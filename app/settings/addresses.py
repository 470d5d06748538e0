"""The rules for addresses in settings: text in, normalised text out, or a ValueError that never repeats the text."""

from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

_DEFAULT_PORTS = {"https": 443, "http": 80}


def is_loopback(host: str) -> bool:
    """Tell whether a host name or literal (without brackets) is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def public_origin(value: str) -> str:
    """Return the origin in the one form that is compared byte by byte: lower case, no default port, no slash.

    Source: RFC 8414 section 2 (issuer), RFC 9728 section 1.2 (resource).
    """
    parts = _split(value)
    host, port = parts.hostname or "", parts.port
    if parts.path not in {"", "/"} or parts.query or parts.fragment or value.rstrip("/").endswith(("?", "#")):
        raise ValueError("must be an origin alone, without path, query or fragment")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError("must be https: plain http is accepted on 127.0.0.1 and localhost only")
    if port == _DEFAULT_PORTS[parts.scheme]:
        port = None
    return f"{parts.scheme}://{_bracketed(host)}" + (f":{port}" if port is not None else "")


def upstream(value: str) -> str:
    """Check an address that we call: https, or http on loopback (a simulator)."""
    parts = _split(value)
    if parts.query or parts.fragment:
        raise ValueError("must have no query and no fragment")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError("must be https: plain http is accepted on 127.0.0.1 and localhost only")
    return value.rstrip("/")


def redis(value: SecretStr) -> SecretStr:
    """Check the form of a Redis address; its content may hold a password and is never shown."""
    text = value.get_secret_value()
    if text:
        try:
            sound = _sound_redis(urlsplit(text))
        except ValueError:
            sound = False
        if not sound:
            raise ValueError(
                "is not an address like redis://, rediss:// or unix://, or redis+sentinel://HOST,HOST/NAME, NAME being "
                "that of the primary"
            )
    return value


def _sound_redis(parts: SplitResult) -> bool:
    if parts.scheme in {"redis+sentinel", "rediss+sentinel"}:
        hosts = [urlsplit(f"//{each}") for each in parts.netloc.rpartition("@")[2].split(",")]
        return bool(parts.path.strip("/")) and all(host.hostname and host.port != 0 for host in hosts)
    _ = parts.port  # raises when malformed
    return parts.scheme == "unix" or (parts.scheme in {"redis", "rediss"} and bool(parts.hostname))


def proxies(values: tuple[str, ...]) -> tuple[str, ...]:
    """Check a list of addresses and networks, or `*` alone. A name would be text that never equals an address."""
    if "*" in values and len(values) > 1:
        raise ValueError("holds * and more: * alone means everyone")
    for value in values:
        try:
            _ = value == "*" or ip_network(value)
        except ValueError:
            raise ValueError("holds what is neither an address nor a network like 172.16.0.0/12") from None
    return values


def _split(value: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is not an address") from None
    if parts.scheme not in _DEFAULT_PORTS or not host or port == 0:
        raise ValueError("is not an https address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not carry a user name or a password")
    if not value.isascii() or any(
        c.isspace() or ord(c) < 0x20 or c in '\\"<>^`{|}%*' for c in parts.netloc + parts.path
    ):
        raise ValueError("has characters that do not belong in an address (write the host in its ASCII form)")
    return parts


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
