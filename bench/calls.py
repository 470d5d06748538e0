"""Authenticated tool calls that ask nothing of Oura, against the bare SDK server that answers a constant."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.connector import connected, slow_oura, vitals
from bench.figures import Figure, at_least
from bench.rate import ERAS, call, requests_per_s
from bench.running import Child, child, free_port

TOOLS: dict[str, dict[str, object]] = {"health_check": {}, "health_catalog": {"collection": "vO2_max"}}
SECONDS, CONNECTIONS = 1.5, 8


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    """Measure each era and tool: both servers in turn, one round after the other."""
    port = free_port()
    with (
        slow_oura(folder, latency_s=0) as oura,
        vitals(folder, oura.url) as ours,
        child("-m", "bench.bare", str(port), port=port, env={}, folder=folder) as bare,
    ):
        token = connected(ours).access_token
        for era in ERAS:
            constant = call(bare.port, era=era, tool="constant", token="x")
            for tool, arguments in TOOLS.items():
                request = call(ours.port, era=era, tool=tool, token=token, arguments=arguments)
                ratios, seen = [], []
                for _round in range(rounds):
                    least, least_us = _rate(bare, constant)
                    own, own_us = _rate(ours, request)
                    ratios.append(own / least)
                    seen.append((own, least, own_us, least_us))
                own, least, own_us, least_us = (median(each) for each in zip(*seen, strict=True))
                details = (
                    f"{own:.0f} against {least:.0f} calls/s, {rounds} rounds, {_spread(ratios)}; "
                    f"{own_us:.0f} against {least_us:.0f} us of processor a call: {least_us / own_us:.2f}"
                )
                yield at_least(f"tools/call {tool}, era {era}", median(ratios), 0.8, details)


def _rate(server: Child, request: bytes) -> tuple[float, float]:
    """Return calls a second, and microseconds of the server's processor time for each."""
    before_s, began = server.cpu_s(), time.perf_counter()
    rate = requests_per_s(server.port, request=request, seconds=SECONDS, connections=CONNECTIONS)
    calls = rate * (time.perf_counter() - began)
    return rate, (server.cpu_s() - before_s) / calls * 1e6


def _spread(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"
