"""The `vitals` command: reads arguments, prints lines, chooses exit codes. What a command does stands in its module.

Exit codes: 0 done; 1 done, but something is not as it should be; 2 the settings or arguments do not allow a start;
3 the store or the key that is kept in `DATA_DIR` does not (`start_refused` in the log).
"""

import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import click

from app import __version__, logs
from app.errors import SettingsError, VitalsError
from app.settings import Settings, load_settings
from app.settings.secret_key import new_secret

PORT = click.IntRange(1, 65535)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vitals")
def main() -> None:
    """A remote MCP connector that you host yourself: ask your assistant about your Oura data."""


@main.command()
@click.option("--host", help="Address to listen on; HOST sets it too. Default 127.0.0.1.")
@click.option("--port", type=PORT, help="Port to listen on; PORT sets it too. Default 8000.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that serve.")
def serve(host: str | None, port: int | None, workers: int) -> None:
    """Run the connector."""
    # Until `from_environment` is done: what loading makes stays, and searching it for garbage again and again takes a
    # tenth of the start.
    gc.disable()
    from app import serving  # noqa: PLC0415 -- the server and all it serves, not needed by the other commands

    # Written back, because worker processes read the environment again.
    os.environ.update({name: str(value) for name, value in (("HOST", host), ("PORT", port)) if value is not None})
    with _refusing():
        settings = _settings()
        listener = serving.bind(settings.host, settings.port)
        where = f"{settings.host} port {settings.port}" + (f", {workers} processes" if workers > 1 else "")
        line = f"vitals {__version__} at {settings.resource} (listening on {where})"
        # Only when it serves: a start that is refused must not look like one.
        serving.run("app.main:from_environment", listener=listener, workers=workers, serves=lambda: _say(line))


@main.command()
@click.option("--port", type=PORT, default=8000, show_default=True, help="Port to listen on, or the next free one.")
@click.option("--once", is_flag=True, help="Sign in as an app would, ask, print the answers, and end.")
def demo(port: int, once: bool) -> None:
    """Try it against a simulated Oura.

    No settings, no account, nothing kept.
    """
    from app.demo import run_demo  # noqa: PLC0415 -- the simulator is loaded only to simulate

    with _refusing():
        sys.exit(run_demo(port=port, once=once))


@main.command()
@click.argument("url", required=False, metavar="")  # of the contract, not built yet: taken, and not advertised
def check(url: str | None) -> None:
    """Examine the settings and the store.

    Each line is ok, ?? (not known), !! (may go wrong later) or RED. Exits 1 if one is RED, 2 if a setting is missing
    or malformed. How the server looks from outside, to an app, is not examined.
    """
    from app.checking import check_configuration  # noqa: PLC0415 -- loads every part

    if url is not None:
        raise click.UsageError("Examining a server from outside is not built yet. Run `vitals check` alone.")
    with _refusing():
        settings = _settings()
        logs.configure(level="critical", style=settings.log_format)  # the lines below say it, and for people
        lines = anyio.run(check_configuration, settings, time.time, os.environ)
    for line in lines:
        print(f"{line.mark} {line.text}")
    sys.exit(0 if all(line.good for line in lines) else 1)


@main.command()
def secret() -> None:
    """Print a fresh secret, for SECRET_KEY."""
    print(new_secret())


@main.command()
def disconnect() -> None:
    """End every app's access and the sign-in at Oura.

    Revokes the sign-in at Oura and erases it here.
    """
    from app.disconnecting import disconnect_all  # noqa: PLC0415 -- loads every part

    with _refusing():
        report = anyio.run(disconnect_all, _settings(), time.time)
    for text in report.lines:
        print(text)
    sys.exit(0 if report.complete else 1)


def _say(line: str) -> None:
    print(line, flush=True)


def _settings() -> Settings:
    settings = load_settings(os.environ)
    logs.configure(level=settings.log_level, style=settings.log_format)
    return settings


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn an error of ours into one line on standard error: 2 for settings, 1 for anything else."""
    try:
        yield
    except VitalsError as exc:
        print(f"vitals: {exc}", file=sys.stderr)
        sys.exit(2 if isinstance(exc, SettingsError) else 1)
