"""Oura's data routes: who may read what, and how a refusal is worded.

Source: `oura/FACTS.md` sections 1 (scopes), 2 and 4.
"""

from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.simulator import sandbox
from app.simulator.archive import Archive
from app.simulator.filters import BadParameter, BadQuery
from app.simulator.grants import Family, Grants
from app.simulator.pages import Pages
from app.simulator.world import COLLECTIONS, DENSE

SCOPE: dict[str, str | None] = {
    "daily_activity": "daily",
    "daily_cardiovascular_age": "heart_health",
    "daily_readiness": "daily",
    "daily_resilience": "stress",
    "daily_sleep": "daily",
    "daily_spo2": "spo2",
    "daily_stress": "daily",  # one report names `stress`; `Simulator.scopes` can be changed
    "enhanced_tag": "tag",
    "heartrate": "heartrate",
    "personal_info": None,
    "rest_mode_period": "daily",
    "ring_battery_level": "ring_configuration",
    "ring_configuration": "ring_configuration",
    "session": "session",
    "sleep": "daily",
    "sleep_time": "daily",
    "tag": "tag",
    "vO2_max": "heart_health",
    "workout": "workout",
}
_NO_AUTH = "Missing auth token. Include any string in 'Authorization' header."
_NO_MEMBERSHIP = "Access forbidden. The user's Oura membership has expired and their data is not available via the API."


class Data:
    """The routes under `/v2`."""

    def __init__(
        self,
        *,
        grants: Grants,
        archive_of: Callable[[Family], Archive],
        pages_of: Callable[[Family], Pages],
        member: Callable[[], bool],
        now: Callable[[], float],
    ) -> None:
        self.scopes = dict(SCOPE)
        self._grants = grants
        self._archive_of = archive_of
        self._pages_of = pages_of
        self._member = member
        self._now = now

    def routes(self) -> list[Route]:
        """Return the routes; Starlette compares them with case, as Oura does."""
        return [
            Route("/v2/usercollection/{collection}", self._list, methods=["GET"]),
            Route("/v2/usercollection/{collection}/{ident}", self._single, methods=["GET"]),
            Route("/v2/sandbox/usercollection/{collection}", self._sandbox, methods=["GET"]),
            Route("/v2/sandbox/usercollection/{collection}/{ident}", self._sandbox_single, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        collection = request.path_params["collection"]
        if collection not in COLLECTIONS:
            return _answer(404, {"detail": "Not Found"})
        family, refusal = self._admit(request, collection)
        if family is None:
            return refusal
        if collection == "personal_info":
            return _answer(200, self._archive_of(family).personal_info(family.scopes))
        try:
            return _answer(200, self._pages_of(family).answer(collection, request.query_params, self._now()))
        except BadParameter as exc:
            return _answer(422, {"detail": exc.detail})
        except BadQuery as exc:
            return _answer(400, {"detail": str(exc)})

    async def _single(self, request: Request) -> Response:
        collection = request.path_params["collection"]
        if collection not in COLLECTIONS or collection in DENSE or collection == "personal_info":
            return _answer(404, {"detail": "Not Found"})
        family, refusal = self._admit(request, collection)
        if family is None:
            return refusal
        found = self._archive_of(family).document(collection, request.path_params["ident"])
        return _answer(200, found) if found is not None else _answer(404, {"detail": "Document not found."})

    def _admit(self, request: Request, collection: str) -> tuple[Family | None, Response]:
        """Check token, scope and membership, in this order; a missing scope is a 401 that names it."""
        header = request.headers.get("authorization", "")
        if not header:
            return None, _answer(400, {"detail": _NO_AUTH})
        kind, _, token = header.partition(" ")
        family = self._grants.family_of(token.strip()) if kind.lower() == "bearer" else None
        if family is None:
            expired = "The access token expired, is malformed or was revoked."
            return None, _answer(401, {"status": 401, "title": "Unauthorized", "detail": expired})
        scope = self.scopes[collection]
        if scope is not None and scope not in family.scopes:
            return None, _answer(401, {"detail": f"Token is not authorized access {scope} scope."})
        if scope is not None and not self._member():
            return None, _answer(403, {"detail": _NO_MEMBERSHIP})
        return family, Response()

    async def _sandbox(self, request: Request) -> Response:
        collection = request.path_params["collection"]
        if collection not in sandbox.COLLECTIONS:
            return _answer(404, {"detail": "Not Found"})
        if not request.headers.get("authorization"):
            return _answer(400, {"detail": _NO_AUTH})
        try:
            return _answer(200, sandbox.answer(collection, request.query_params, self._now()))
        except BadParameter as exc:
            return _answer(422, {"detail": exc.detail})
        except BadQuery as exc:
            return _answer(400, {"detail": str(exc)})

    async def _sandbox_single(self, request: Request) -> Response:
        collection = request.path_params["collection"]
        if collection not in sandbox.COLLECTIONS or collection in DENSE:
            return _answer(404, {"detail": "Not Found"})
        if not request.headers.get("authorization"):
            return _answer(400, {"detail": _NO_AUTH})
        if sandbox.own_ident(request.path_params["ident"]):
            return Response("Internal Server Error", 500, media_type="text/plain")
        return _answer(404, {"detail": "Invalid sandbox document ID format."})


def _answer(status: int, body: object) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
