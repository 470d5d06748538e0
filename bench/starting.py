"""From the start of the process to the first answered `/healthz`, and the memory of a process that does nothing."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.connector import vitals
from bench.figures import Figure, at_most
from bench.running import child, free_port

_SETTLE_S = 1.0


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    """Start both servers in turn, each on a folder of its own."""
    starts, sizes, seen = [], [], []
    for number in range(rounds + 1):
        here = folder / str(number)
        here.mkdir()
        port = free_port()
        with child("-m", "bench.bare", str(port), port=port, env={}, folder=here) as bare:
            bare_cpu_s = bare.cpu_s()
            time.sleep(_SETTLE_S)
            bare_mb = bare.rss_mb()
        with vitals(here, "http://127.0.0.1:9") as ours:
            ours_cpu_s = ours.cpu_s()
            time.sleep(_SETTLE_S)
            ours_mb = ours.rss_mb()
        if number == 0:
            continue  # the first start compiles what others find compiled
        starts.append(ours.started_in_s / bare.started_in_s)
        sizes.append(ours_mb / bare_mb)
        seen.append((ours.started_in_s, bare.started_in_s, ours_mb, bare_mb, ours_cpu_s, bare_cpu_s))
    ours_s, bare_s, ours_mb, bare_mb, ours_cpu_s, bare_cpu_s = (median(each) for each in zip(*seen, strict=True))
    details = (
        f"{ours_s:.2f} s against {bare_s:.2f} s, {rounds} rounds, {min(starts):.2f} to {max(starts):.2f}; "
        f"{ours_cpu_s:.2f} s against {bare_cpu_s:.2f} s of processor: {ours_cpu_s / bare_cpu_s:.2f}"
    )
    yield at_most("start to first /healthz", median(starts), 1.3, details)
    yield at_most("resident memory, idle", median(sizes), 1.3, f"{ours_mb:.0f} MB against {bare_mb:.0f} MB")
