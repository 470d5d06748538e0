"""Small JSON answers, and the one table from our errors to HTTP status codes."""

from collections.abc import Mapping
from http import HTTPStatus

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.errors import SealBroken, StoreUnavailable, TooManyRequests

_RETRY_S = "5"  # a store that is restarting is back within a few of these


def json_reply(status: int, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON that no cache keeps."""
    return Response(
        orjson.dumps(body),
        status,
        headers={"cache-control": "no-store", **(headers or {})},
        media_type="application/json",
    )


def problem(status: int, error: str, description: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer in the form of an OAuth error, which every client of ours can read.

    Source: RFC 6749 section 5.2.
    """
    return json_reply(status, {"error": error, "error_description": description}, headers)


def for_error(exc: Exception) -> Response:
    """Answer for an exception that no route handled. Nothing of an unexpected one's text goes out."""
    if isinstance(exc, StoreUnavailable):
        return problem(503, "temporarily_unavailable", exc.public, {"retry-after": _RETRY_S})
    if isinstance(exc, SealBroken):
        return problem(503, "server_error", exc.public)
    if isinstance(exc, TooManyRequests):
        return problem(429, "temporarily_unavailable", str(exc), {"retry-after": str(exc.retry_after_s)})
    if isinstance(exc, HTTPException):
        phrase = HTTPStatus(exc.status_code).phrase
        return problem(exc.status_code, phrase.lower().replace(" ", "_"), f"{phrase}.", exc.headers)
    return problem(500, "server_error", "Something failed here. The log of this server says where.")
