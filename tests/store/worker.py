"""A process of its own that uses a store: `python -m tests.store.worker KIND PLACE PREFIX ROLE COUNT`.

It prints `ready`, starts at a line on its input, and prints what it got, one item a line.
"""

import sys
import time
from pathlib import Path

import anyio
import anyio.lowlevel

from app.store.base import Store
from app.store.redis import RedisStore
from app.store.sqlite import SqliteStore


async def increment(store: Store, count: int) -> None:
    """Add 1 to a shared number `count` times; each time until the compare-and-set wins."""
    for _ in range(count):
        while True:
            held = await store.get("number")
            if await store.compare_and_set("number", held, str(int(held or b"0") + 1).encode()):
                break


async def take(store: Store, count: int) -> None:
    """Try to take `count` records; print those that were ours."""
    for n in range(count):
        if await store.take(f"code:{n}") is not None:
            print(n)


async def lease(store: Store, count: int) -> None:
    """Hold a lease `count` times; inside, do what only one at a time may do. Print the fencing numbers."""
    for _ in range(count):
        async with store.lease("refresh:ada", ttl_s=30, wait_s=60) as fence:
            if not await store.compare_and_set("inside", None, b"1"):
                print("two holders")
            total = int(await store.get("total") or b"0")
            await anyio.lowlevel.checkpoint()
            await store.put("total", str(total + 1).encode())
            await store.delete("inside")
            print(fence)


async def hold(store: Store, count: int) -> None:
    """Take a lease for `count` seconds, say so, and never give it back: the parent kills us."""
    async with store.lease("refresh:ada", ttl_s=count, wait_s=0) as fence:
        print(fence, flush=True)
        await anyio.sleep_forever()


ROLES = {"increment": increment, "take": take, "lease": lease, "hold": hold}


async def main(*arguments: str) -> None:
    kind, place, prefix, role, count = arguments
    print("ready", flush=True)
    sys.stdin.readline()
    store: Store = (
        RedisStore(place, now=time.time, prefix=prefix)
        if kind == "redis"
        else SqliteStore(Path(place), now=time.time)  # several processes make the file at the same moment
    )
    try:
        await ROLES[role](store, int(count))
    finally:
        await store.aclose()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
