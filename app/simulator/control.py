"""Steering the simulator from another process: faults, log, state, expiry. Exists only where asked for."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from app.simulator.simulator import Simulator


class Control:
    """The routes under `/_sim`."""

    def __init__(self, simulator: "Simulator") -> None:
        self._simulator = simulator

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/_sim/faults", self._faults, methods=["POST"]),
            Route("/_sim/log", self._log, methods=["GET"]),
            Route("/_sim/state", self._state, methods=["GET"]),
            Route("/_sim/expire", self._expire, methods=["POST"]),
            Route("/_sim/member", self._member, methods=["POST"]),
            Route("/_sim/truth/{collection}", self._truth, methods=["GET"]),
        ]

    async def _faults(self, request: Request) -> Response:
        """Take `{"kind": "status", "path": "/v2/*", ...}`, `{"clear": true}` or `{"release": true}`."""
        asked: dict[str, Any] = orjson.loads(await request.body())
        faults = self._simulator.faults
        if asked.get("clear"):
            faults.clear()
        elif asked.get("release"):
            faults.release()
        else:
            try:
                faults.add(asked.pop("kind", ""), asked.pop("path", "*"), **asked)
            except (TypeError, ValueError) as exc:
                return _json({"error": str(exc)}, 400)
        return _json({"ok": True})

    async def _log(self, _: Request) -> Response:
        return _json([asdict(seen) for seen in self._simulator.log])

    async def _state(self, _: Request) -> Response:
        return _json(self._simulator.state())

    async def _expire(self, _: Request) -> Response:
        return _json({"expired": self._simulator.expire_access_tokens()})

    async def _member(self, request: Request) -> Response:
        self._simulator.member = bool(orjson.loads(await request.body()).get("member", True))
        return _json({"ok": True})

    async def _truth(self, request: Request) -> Response:
        collection, query = request.path_params["collection"], request.query_params
        return _json(self._simulator.truth(collection, query["start"], query["end"], query.get("zone")))


def _json(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
