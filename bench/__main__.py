"""`python -m bench`: measures, and prints one line for each figure. Arguments: names of figures; none for all."""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import calls, flood, load, month, scale, size, starting, year
from bench.figures import Figure

MEASURES: dict[str, Callable[[Path, int], Iterator[Figure]]] = {
    "month": month.measure,
    "year": year.measure,
    "calls": calls.measure,
    "start": starting.measure,
    "size": size.measure,
}
BY_NAME: dict[str, Callable[[Path, int], Iterator[Figure]]] = {
    "scale": scale.measure,
    "flood": flood.measure,
    "load": load.measure,
    "soak": load.soak,
}
"""Those that take minutes and the whole machine: run only when they are named."""


def main() -> None:
    """Measure what is named."""
    every = MEASURES | BY_NAME
    parser = argparse.ArgumentParser(prog="python -m bench", description="Figures as ratios; see bench/README.md.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(every)}; without, all but {', '.join(BY_NAME)}"
    )
    parser.add_argument("--rounds", type=int, default=5, help="measurements behind each median (default 5)")
    given = parser.parse_args()
    if unknown := set(given.names) - every.keys():
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    load = " ".join(f"{average:.1f}" for average in os.getloadavg())
    print(f"{os.cpu_count()} processors, load {load} before the start, medians of {given.rounds} rounds", flush=True)
    for name in given.names or MEASURES:
        with tempfile.TemporaryDirectory(prefix="vitals-bench-") as folder:
            for figure in every[name](Path(folder), given.rounds):
                print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
