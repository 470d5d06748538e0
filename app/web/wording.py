"""What a client hears at `/mcp` whose POST is no JSON-RPC request: words, where the SDK shows what its parser met.

The SDK answers such a POST with the report of its data model, a page long, with pieces of what was sent in it. All else
that it answers passes as it is.
"""

import orjson
from starlette.types import Message, Send

from app.web.replies import json_reply

_INVALID_REQUEST = -32600  # JSON-RPC 2.0, section 5.1
_NO_JSON = b"Invalid Content-Type header"
_REPORTS = ("Validation error: ", "Body must be a single JSON-RPC request")

_SEND_JSON = "Send the request as JSON, with the header Content-Type: application/json. Nothing was done."
_BATCH = "Batches are not answered here, and nothing of this one was done. Send each request in a POST of its own."
_NO_REQUEST = (
    'This is no JSON-RPC 2.0 request, so nothing was done. Send one object with "jsonrpc": "2.0", an id, a method, and '
    "params if it takes any."
)


def reworded(send: Send, asked: bytes) -> Send:
    """Return a `send` that passes answers on, but for those reports.

    Args:
        send: To the client.
        asked: The body of the request.
    """
    held: Message | None = None

    async def watch(message: Message) -> None:
        nonlocal held
        if message["type"] == "http.response.start" and message["status"] == 400:
            held = message
            return
        if held is None:
            await send(message)
            return
        start, held = held, None
        said = None if message.get("more_body", False) else _plainly(message.get("body", b""), asked)
        if said is None:
            await send(start)
            await send(message)
            return
        status, text = said
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": _INVALID_REQUEST, "message": text}}
        reply = json_reply(status, answer)
        await send({"type": "http.response.start", "status": status, "headers": reply.raw_headers})
        await send({"type": "http.response.body", "body": reply.body})

    return watch


def _plainly(said: bytes, asked: bytes) -> tuple[int, str] | None:
    if said == _NO_JSON:
        return 415, _SEND_JSON
    try:
        message = orjson.loads(said)["error"]["message"]
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(message, str) or not message.startswith(_REPORTS):
        return None
    return 400, _BATCH if asked.lstrip().startswith(b"[") else _NO_REQUEST
