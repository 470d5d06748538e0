"""Oura's data API as pure functions: a question to parameters, an answer's bytes to a page or an error.

No I/O here; `client` sends. Of an answer that is no page only its `detail` texts are repeated, bounded and printable:
the body around them may hold readings.

Source: Oura API v2 OpenAPI document 1.37 (`next_token` on every collection, `HTTPValidationError`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast
from urllib.parse import quote, urlencode

import orjson

from app.errors import (
    BadRequest,
    MembershipRequired,
    NotPermitted,
    SourceBusy,
    SourceChanged,
    TokenRefused,
    VitalsError,
)
from app.sources.base import Collection, Record
from app.sources.oura.scopes import bare
from app.sources.pages import Page
from app.sources.windows import Window

_SCOPE_REFUSED: Final = re.compile(r"not authorized (?:to )?access (?:the )?([\w:.-]{1,64}) scope", re.IGNORECASE)
_DETAIL_CHARS: Final = 300
_LONGEST_WAIT_S: Final = 86_400.0


def question(
    collection: Collection, window: Window | None, *, fields: tuple[str, ...], latest: bool, sandbox: bool = False
) -> dict[str, str]:
    """Put a window into Oura's parameters; the sandbox knows neither `fields` nor `latest`."""
    params: dict[str, str] = {}
    if window is not None and window.start is not None and window.end is not None:
        params |= {"start_datetime": window.start.isoformat(), "end_datetime": window.end.isoformat()}
    elif window is not None:
        params |= {"start_date": window.asked_first.isoformat(), "end_date": window.asked_last.isoformat()}
    if latest and not sandbox:
        params["latest"] = "true"
    if fields and collection.takes_fields and not sandbox:
        params["fields"] = ",".join(fields)
    return params


def query(params: Mapping[str, str], *, next_token: str | None = None) -> str:
    """Write a query string; the `+` of an offset must travel as `%2B`, or Oura reads a blank."""
    given = dict(params) if next_token is None else {**params, "next_token": next_token}
    return urlencode(given, quote_via=quote, safe="")


def parse_page(status: int, headers: Mapping[str, str], body: bytes, *, bare_record: bool = False) -> Page:
    """Read one answer.

    Args:
        status: HTTP status.
        headers: Of the answer, case-insensitive or in lower case.
        body: Decompressed.
        bare_record: The collection may answer with one object instead of an envelope (`personal_info`).

    Raises:
        TokenRefused: 401 that names no scope: the access token is no longer good.
        NotPermitted: 401 or 403 that names a scope.
        MembershipRequired: 403 that names none.
        BadRequest: 400, 404, 422 or 426 with a reason.
        SourceBusy: 429 or 5xx; `retry_after_s` is None when Oura named no wait.
        SourceChanged: Anything that is not the documented answer, also under 200.
    """
    if status == 429 or status >= 500:
        raise _busy(status, headers, html=_is_html(headers, body))
    if _is_html(headers, body):
        raise SourceChanged(
            f"Upstream error: a web page came instead of Oura's data (HTTP {status}), usually from the network in "
            "front of Oura. Nothing is wrong with the question; ask again later.",
            status=status,
        )
    if status != 200:
        raise _refusal(status, _json(body))
    return _page(_json(body), bare_record=bare_record)


def down(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    """Say in a few words that an answer tells of a source that is down, whatever was asked; None if it does not."""
    page = "a web page, " if _is_html(headers, body) else ""
    return f"{page}HTTP {status}" if status >= 500 or (page and status != 429) else None


def _page(reply: object, *, bare_record: bool) -> Page:
    if not isinstance(reply, dict):
        raise SourceChanged("Oura answered 200 with something that is not its documented JSON.", status=200)
    if reply.get("error") or reply.get("errors") or ("data" not in reply and "detail" in reply):
        raise SourceChanged(
            f"Upstream error: Oura answered 200 with an error inside{_said(_details(reply))}.", status=200
        )
    if "data" not in reply:
        if bare_record and isinstance(reply.get("id"), str):
            return Page((cast("Record", reply),))
        raise SourceChanged("Oura answered 200 without a `data` list.", status=200)
    documents, next_token = reply["data"], reply.get("next_token")
    if not isinstance(documents, list) or not all(isinstance(document, dict) for document in documents):
        raise SourceChanged("Oura answered 200 with `data` that is no list of records.", status=200)
    if not isinstance(next_token, str | None):
        raise SourceChanged("Oura answered 200 with a `next_token` that is no text.", status=200)
    return Page(tuple(cast("list[Record]", documents)), next_token or None)


def _refusal(status: int, reply: object) -> VitalsError:
    details = _details(reply)
    named = next((match for text in details if (match := _SCOPE_REFUSED.search(text))), None)
    if status in (401, 403) and named is not None:
        return not_permitted(bare(named[1]))
    if status == 401:
        return TokenRefused("Oura refused the access token.")
    if status == 403:
        return MembershipRequired(
            "Oura refuses the data (HTTP 403). Usually the Oura membership has ended: check it in the Oura app."
        )
    if status == 426:
        return BadRequest(
            f"Oura says the Oura app on the phone is too old for this data (HTTP 426){_said(details)}. Update the app, "
            "let it sync, and ask again."
        )
    if status in (400, 404, 422) and details:
        return BadRequest(
            f"Oura did not accept the question (HTTP {status}){_said(details)}. If nothing in the question can be "
            "changed to suit, Oura's API has changed and this connector needs an update."
        )
    return SourceChanged(
        f"Oura answered with HTTP {status}, which it does not document here{_said(details)}.", status=status
    )


def not_permitted(scope: str) -> NotPermitted:
    """Say which scope is missing, and that a renewed token would not help."""
    return NotPermitted(
        f"Oura has not been asked to share this, or the owner did not agree: the scope `{scope}` is missing. Sign in "
        "at Oura again with that scope ticked; the access token is fine, and nothing is known about the data itself.",
        scope=scope,
    )


def not_ticked(scope: str) -> NotPermitted:
    """Say that the owner kept this from the app that asks, whatever others may see."""
    return NotPermitted(
        f"The owner did not tick the scope `{scope}` at Oura when approving this app, so it may not read this, "
        "whatever another app may. To change that the owner connects this app again and ticks it; nothing is known "
        "about the data itself.",
        scope=scope,
    )


def _busy(status: int, headers: Mapping[str, str], *, html: bool) -> SourceBusy:
    if status != 429:
        page = " with a web page" if html else ""
        return SourceBusy(
            f"Oura is failing (HTTP {status}{page}). Ask again in a minute.",
            status=status,
            retry_after_s=wait_asked_s(headers),
        )
    wait_s = wait_asked_s(headers)
    when = "in a few minutes" if wait_s is None else f"in {wait_s:.0f} s"
    return SourceBusy(f"Oura's rate limit is reached (HTTP 429). Ask again {when}.", status=429, retry_after_s=wait_s)


def wait_asked_s(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After`; None if it is not there or no number of seconds."""
    named = headers.get("retry-after", "").strip()
    return min(float(named), _LONGEST_WAIT_S) if named.isascii() and named.isdecimal() and len(named) < 10 else None


def _is_html(headers: Mapping[str, str], body: bytes) -> bool:
    return "html" in headers.get("content-type", "").lower() or body[:256].lstrip()[:1] == b"<"


def _json(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _details(reply: object) -> list[str]:
    """Collect the texts of an error body: never its values, only what documented members say in words."""
    if not isinstance(reply, dict):
        return []
    texts: list[str] = []
    for name in ("detail", "message", "error_description", "error", "title"):
        texts += _texts(reply.get(name))
        if texts:
            break
    return [clean for text in texts[:5] if (clean := printable(text))]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict):
        message = value.get("msg", value.get("message"))
        if isinstance(message, str):
            loc = value.get("loc")
            where = [str(part) for part in loc if part not in ("query", "path")] if isinstance(loc, list) else []
            yield f"{'.'.join(where)}: {message}" if where else message


def printable(text: str) -> str:
    """Bound a text from outside and drop what is not printable, so that it cannot pass for anything else."""
    kept = "".join(char if char.isprintable() else " " for char in text[: 4 * _DETAIL_CHARS])
    short = " ".join(kept.split())
    return short if len(short) <= _DETAIL_CHARS else short[: _DETAIL_CHARS - 1] + "…"


def _said(details: list[str]) -> str:
    return f': "{printable("; ".join(details))}"' if details else ""
