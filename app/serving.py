"""Runs an application under uvicorn the way this project wants it: our logs, no banner, a bounded graceful stop."""

import errno
import gc
import signal
import socket
import time
from collections.abc import Callable
from functools import partial

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from app.errors import SettingsError
from app.web.crowd import Crowd, places
from app.web.heads import BoundedHeads

# A platform kills 10 s after SIGTERM at the earliest. Requests under way get this long. Questions are told at once that
# time is short, and answer within 5 s with what they have (`sources.ending`); the rotation is done after 8 s at the
# latest (`vault.rotation`), whatever a source does.
_GRACEFUL_S = 6
_LOOK_S = 0.1  # how often the first of several processes is asked whether it serves
_KEEP_ALIVE_S = 75  # longer than proxies keep a connection, or they send a request into one that is just closing


def bind(host: str, port: int) -> socket.socket:
    """Take the address, so that a taken one is one clear line and not a stack trace.

    Raises:
        SettingsError: It cannot be taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as exc:
        listener.close()
        raise SettingsError(
            f"Cannot listen on {host} port {port} ({exc.strerror or 'unknown host'}). {_what_to_choose(exc)}"
        ) from exc
    listener.set_inheritable(True)  # for worker processes
    return listener


def configuration(app: ASGIApp | Callable[[], ASGIApp] | str, *, workers: int = 1) -> uvicorn.Config:
    """Describe a server for `app`; a string names a factory, which each worker process calls for itself."""
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=workers,
        loop="uvloop",
        http=partial(BoundedHeads, crowd=Crowd(places())),  # type: ignore[arg-type]  # it only ever calls it
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # a proxy decides no scheme here; its addresses are read in `authserver.askers`
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACEFUL_S,
    )


def _what_to_choose(exc: OSError) -> str:
    if isinstance(exc, socket.gaierror) or exc.errno == errno.EADDRNOTAVAIL:
        return "Give an address of this machine with --host or HOST: 127.0.0.1, or 0.0.0.0 for all that it has."
    return "Choose another with --port or PORT, for example PORT=8080."


class _Server(uvicorn.Server):
    """Says when it serves."""

    def __init__(self, config: uvicorn.Config, serves: Callable[[], None]) -> None:
        super().__init__(config)
        self._serves = serves

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._serves()


def run(factory: str, *, listener: socket.socket, workers: int, serves: Callable[[], None]) -> None:
    """Serve until a signal ends it.

    Args:
        factory: Makes the application, in each process.
        listener: Bound; from `bind`.
        workers: How many processes.
        serves: Called once, when requests are answered.

    Raises:
        SystemExit: The application did not start.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn stops at these and then raises them once more: by then everything is done, and done well.
        signal.signal(number, _leave)
    config = configuration(factory, workers=workers)
    if workers > 1:
        from uvicorn.supervisors import Multiprocess  # noqa: PLC0415 -- multiprocessing only where it is asked for

        gc.enable()  # in this process, which loads nothing more

        class Workers(Multiprocess):
            def init_processes(self) -> None:
                # The others follow once the first one serves: what refuses a start would refuse, and log, each of them.
                everyone, self.processes_num = self.processes_num, 1
                super().init_processes()
                self.processes_num = everyone
                while not self.processes[0].is_ready(timeout=_LOOK_S):
                    self.handle_signals()
                    if self.processes[0].exitcode == STARTUP_FAILURE:
                        self.should_exit.set()
                    if self.should_exit.is_set():
                        return
                    self.keep_subprocess_alive()
                    time.sleep(_LOOK_S)
                serves()
                first = self.processes
                self.processes, self.processes_num = [], everyone - 1
                super().init_processes()
                self.processes, self.processes_num = [*first, *self.processes], everyone

            def terminate_all(self) -> None:
                # Ours too, or connections would still be taken into a queue that nobody serves any more.
                listener.close()
                super().terminate_all()

        supervisor = Workers(config, sockets=[listener])
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise SystemExit(STARTUP_FAILURE)
        return
    server = _Server(config, serves)
    server.run(sockets=[listener])
    if not server.started:
        raise SystemExit(STARTUP_FAILURE)


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(0)
