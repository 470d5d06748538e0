"""Authenticated tool calls that ask nothing of Oura, against the bare SDK server that answers a constant."""

from collections.abc import Iterator
from pathlib import Path

from bench.connector import connected, slow_oura, vitals
from bench.figures import Figure, at_least, middle
from bench.rate import ERAS, call, requests_per_s
from bench.running import child, free_port

TOOLS: dict[str, dict[str, object]] = {"health_check": {}, "health_catalog": {"collection": "vO2_max"}}
SECONDS, CONNECTIONS = 1.5, 8


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    """Measure each era and tool: both servers in turn, one round after the other."""
    port = free_port()
    with (
        slow_oura(folder, latency_s=0) as oura,
        vitals(folder, oura.url) as ours,
        child("-m", "bench.bare", str(port), "json", port=port, env={}, folder=folder) as bare,
    ):
        token = connected(ours).access_token
        for era in ERAS:
            constant = call(bare.port, era=era, tool="constant", token="x")
            for tool, arguments in TOOLS.items():
                request = call(ours.port, era=era, tool=tool, token=token, arguments=arguments)
                ratios, rates = [], []
                for _round in range(rounds):
                    least = _rate(bare.port, constant)
                    own = _rate(ours.port, request)
                    ratios.append(own / least)
                    rates.append((own, least))
                own, least = (middle(each) for each in zip(*rates, strict=True))
                details = f"{own:.0f} against {least:.0f} calls/s, {rounds} rounds, {_spread(ratios)}"
                yield at_least(f"tools/call {tool}, era {era}", middle(ratios), 0.8, details)


def _rate(port: int, request: bytes) -> float:
    return requests_per_s(port, request=request, seconds=SECONDS, connections=CONNECTIONS)


def _spread(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"
