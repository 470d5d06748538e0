"""Whose account a fresh sign-in at Oura is: asked once, before anything of it is stored."""

from dataclasses import dataclass

import httpx2

from app.errors import SourceChanged
from app.sources.oura import wire
from app.sources.oura.sending import get


@dataclass(frozen=True, slots=True)
class Account:
    """An Oura account."""

    id: str  # Oura's own, never reused
    email: str | None  # None: the scope `email` was not given


async def account(http: httpx2.AsyncClient, api_url: str, access_token: str) -> Account:
    """Ask Oura whose token this is.

    Raises:
        TokenRefused, NotPermitted, MembershipRequired, SourceError: See `wire.parse_page`.
    """
    status, headers, body = await get(http, f"{api_url.rstrip('/')}/v2/usercollection/personal_info", access_token)
    page = wire.parse_page(status, headers, body, bare_record=True)
    person = page.records[0] if page.records else {}
    known, email = person.get("id"), person.get("email")
    if not isinstance(known, str) or not known.strip():
        raise SourceChanged("Oura's answer does not say whose account it is.", status=status)
    return Account(id=known, email=email if isinstance(email, str) and email.strip() else None)
