"""Says in words why no usable answer came, by the kinds of the errors alone: their texts may hold an address.

Whoever reads the words is to know whom it concerns: Oura, which passes; or the machine this runs on, which does not.
"""

import socket
import ssl
from typing import Final

import httpx2

_CERTIFICATE_CHARS: Final = 120


def why(error: BaseException) -> str:
    """Return a few words for what became of a request, with the kind of the error in parentheses."""
    kind = type(error).__name__
    causes = _chain(error)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            said = "".join(char for char in cause.verify_message if char.isprintable())[:_CERTIFICATE_CHARS]
            return f"its certificate is not to be trusted: {said} ({kind})"
        if isinstance(cause, socket.gaierror):
            return f"its name cannot be resolved, DNS ({kind})"
        if isinstance(cause, ssl.SSLError):
            return f"no secure connection came about, TLS ({kind})"
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return f"no connection in time ({kind})"
    if isinstance(error, httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return f"no connection ({kind})"
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return f"no whole answer in time ({kind})"
    if isinstance(error, httpx2.DecodingError):
        return f"its answer could not be unpacked ({kind})"
    return f"its answer was cut off ({kind})"


def next_step(error: BaseException) -> str:
    """Say what can be done about it."""
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _chain(error)):
        return (
            "Nothing was sent. Whoever runs this connector checks the machine's clock and certificates, and whether "
            "something stands between it and Oura; until then asking again will not help."
        )
    if any(isinstance(cause, socket.gaierror) for cause in _chain(error)):
        return (
            "Nothing was sent. Whoever runs this connector checks the machine's network and name server. Ask again in "
            "a minute."
        )
    return "Ask again in a minute."


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and its causes; a bounded number, and each once."""
    found: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in found and len(found) < 10:
        found.append(step)
        step = step.__cause__ or step.__context__
    return found
