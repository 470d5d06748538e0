"""A browser just good enough to sign in: cookies, redirects, and pressing a named button of the one form on a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

import httpx2

_MOST_HOPS = 12


@dataclass
class Form:
    """What a form would send."""

    action: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Browser:
    """One person's browser. Follows redirects until a page is shown or an address it was told to stop at."""

    def __init__(self, http: httpx2.AsyncClient, *, stop_at: str) -> None:
        self._http = http
        self._stop_at = stop_at
        self.address = ""
        self.page = ""
        self.status = 0
        self.visited: list[str] = []  # host and path of every request

    @property
    def stopped(self) -> bool:
        """Whether it arrived where an app waits for it."""
        return self.address.startswith(self._stop_at)

    async def open(self, address: str) -> None:
        """Open an address."""
        await self._go("GET", address, None)

    async def press(self, value: str, fill: Mapping[str, str] | None = None) -> None:
        """Press the button with this value, after filling in fields by name.

        Raises:
            LookupError: The page has no such button.
        """
        for form in forms(self.page):
            for name, button in form.buttons:
                if button == value:
                    filled = [(key, (fill or {}).get(key, text)) for key, text in form.fields]
                    await self._go("POST", urljoin(self.address, form.action), [*filled, (name, button)])
                    return
        raise LookupError(f"The page at {urlsplit(self.address).path} ({self.status}) has no button {value!r}.")

    async def _go(self, method: str, address: str, fields: list[tuple[str, str]] | None) -> None:
        came_from = self.address
        for _ in range(_MOST_HOPS):
            self.address = address
            if self.stopped:
                self.page = ""
                return
            parts = urlsplit(address)
            self.visited.append(f"{parts.netloc}{parts.path}")
            headers = {"accept": "text/html"}
            content = None
            if method == "POST":
                origin = urlsplit(came_from)
                headers |= {
                    "origin": f"{origin.scheme}://{origin.netloc}",
                    "content-type": "application/x-www-form-urlencoded",
                }
                content = urlencode(fields or []).encode()
            answer = await self._http.request(method, address, headers=headers, content=content)
            self.status, self.page = answer.status_code, answer.text
            if not answer.is_redirect:
                return
            came_from, method, fields = address, "GET", None
            address = urljoin(address, answer.headers["location"])
        raise LookupError("Too many redirects.")


def forms(page: str) -> list[Form]:
    """Return the forms of a page that are sent by POST."""
    reader = _Forms()
    reader.feed(page)
    return reader.found


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect forms, their fields as they would be sent, and their submit buttons."""
        a = {name: value or "" for name, value in attrs}
        if tag == "form" and a.get("method", "").lower() == "post":
            self.found.append(Form(action=a.get("action", "")))
            self._inside = True
        elif self._inside and tag == "input":
            sent = a.get("type", "text") not in {"checkbox", "radio"} or "checked" in a
            if a.get("name") and sent:
                self.found[-1].fields.append((a["name"], a.get("value", "on")))
        elif self._inside and tag == "button" and "disabled" not in a:
            self.found[-1].buttons.append((a.get("name", ""), a.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        """Leave a form."""
        if tag == "form":
            self._inside = False
