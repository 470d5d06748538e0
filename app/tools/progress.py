"""One rising count of pages for a call that asks the source several times, after one another or side by side."""

from app.sources.base import Progress


class Together:
    """Adds up what each part reports: progress may only ever rise."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done: list[int] = []
        self._expected: list[int | None] = []

    def part(self) -> Progress:
        """Return what to give the next fetch."""
        place = len(self._done)
        self._done.append(0)
        self._expected.append(None)

        async def told(done: int, expected: int | None, words: str) -> None:
            self._done[place] = max(done, self._done[place])
            self._expected[place] = expected
            known = [pages for pages in self._expected if pages is not None]
            total = sum(known) if len(known) == len(self._expected) else None
            await self._progress(sum(self._done), total, words)

        return told
