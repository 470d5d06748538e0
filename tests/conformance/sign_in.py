"""A person's browser as a command, for tools that open one: sign in as the owner and follow every redirect.

python tests/conformance/sign_in.py URL
"""

import sys

import anyio
import httpx2

from app.demo.browser import Browser, forms


async def main(address: str) -> None:
    """Approve the app, sign in at the simulated Oura, and go where that leads: to the tool that waits."""
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        browser = Browser(http, stop_at="nowhere:")
        await browser.open(address)
        if forms(browser.page):  # else the request was refused, and the tool knows already
            await browser.press("approve", {"timezone": "Europe/Berlin"})
            await browser.press("owner")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
