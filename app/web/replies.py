"""Small JSON answers, and the one table from our errors to HTTP status codes."""

from collections.abc import Mapping
from http import HTTPStatus

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.errors import SealBroken, StoreUnavailable, TooManyRequests

_PLAINLY = {
    404: "Nothing is at this address. Apps connect at /mcp; a person begins at /.",
    405: "This address does not answer that method. The header Allow names those it does.",
}
_RETRY_S = "5"  # a store that is restarting is back within a few of these


class Refused(HTTPException):
    """A refusal in words of ours; unlike what the framework would say, they go out as they are.

    Args:
        status: HTTP's.
        error: One word for programs.
        text: What happened, and what to do.
        headers: Beside those that every answer has.
    """

    def __init__(self, status: int, error: str, text: str, headers: Mapping[str, str] | None = None) -> None:
        self.error = error
        super().__init__(status, text, headers)


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
    if isinstance(exc, Refused):
        return problem(exc.status_code, exc.error, exc.detail, exc.headers)
    if isinstance(exc, HTTPException):
        phrase = HTTPStatus(exc.status_code).phrase
        text = _PLAINLY.get(exc.status_code, f"{phrase}.")
        return problem(exc.status_code, phrase.lower().replace(" ", "_"), text, exc.headers)
    return problem(500, "server_error", "Something failed here. The log of this server says where.")
