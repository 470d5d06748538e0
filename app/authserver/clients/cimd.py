"""Client ID metadata documents (CIMD): the client_id is an https address, and what is published there is the client.

Rules for the address and the document are pure; `Documents` adds the cache. Fetching is `cimd_fetch`'s job.
No other address in a document is used for anything, so a document cannot make this server call anyone.

Source: draft-ietf-oauth-client-id-metadata-document (64566e8), MCP authorization 2025-11-25 and 2026-07-28.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from app import logs
from app.authserver.clients.pinned import PINNED
from app.authserver.clients.registration import BadMetadata, client_name
from app.authserver.limits.allowances import DOCUMENT, DOCUMENT_RECORDS
from app.authserver.limits.askers import Asker
from app.authserver.limits.gate import Gate
from app.authserver.records import Client, amended, from_json, to_json, token_hash
from app.authserver.redirects import MAX_REDIRECTS, PLAIN_AUTHORITY, BadRedirect, check_redirect
from app.errors import BadRequest, TooManyRequests, VitalsError
from app.store.base import Store

log = logs.get(__name__)

MAX_ID_CHARS = 1024
_ID_CHARACTERS = re.compile(r"(?:[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)

FRESH_MIN_S = 300.0  # below it, one sign-in would fetch the document several times
FRESH_MAX_S = 24 * 3600.0  # above it, a redirect URI that an app withdrew would be honoured for too long
STALE_MAX_S = 30 * 24 * 3600.0  # how long a document that can no longer be fetched still counts; as long as a grant
RETRY_S = 60.0  # pause between fetches while they fail and an older copy serves
_AT_ONCE = {"one": 2, "shared": 8, "anyone": 8}
"""How many documents of one asker, or of one /48 of IPv6, may be on their way. Fewer than `cimd_fetch` has places for
all: each may wait for a server that takes its time on purpose."""
_BUSY_S = 5  # as long as one fetch takes at most
_UNUSED_LIFE_S = 24 * 3600.0
_USED_LIFE_S = 90 * 24 * 3600.0  # must exceed a grant's life


class BadDocument(BadRequest):
    """The client_id's address, or what is published there, describes no client that is served here."""


class DocumentUnavailable(VitalsError):
    """The document could not be fetched; the text says why in a few fixed words.

    `shown` is for whoever asked. It does not tell whether a name exists, or where it leads: anyone may ask about any.
    """

    def __init__(self, text: str, *, shown: str | None = None) -> None:
        self.shown = shown or text
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was published, and what the answer said about caching it."""

    body: bytes
    cache_control: str = ""
    age: str = ""


FetchDocument = Callable[[str], Awaitable[Fetched]]  # raises DocumentUnavailable


@dataclass(frozen=True, slots=True)
class Document:
    """A document, read: the client it describes, and how long that may be believed."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]
    fetched_at: float  # unix s; 0: a pinned copy
    fresh_until: float  # unix s
    kept: bool  # an owner's grant uses it

    def client(self) -> Client:
        """Return the client; such clients are public, PKCE is what protects them."""
        return Client(self.client_id, self.name, self.redirect_uris, "none", None, True, self.fetched_at)


class Documents:
    """The clients described by documents, cached as the documents' servers allow.

    A failed fetch is never remembered as such. An older copy serves then, and after it a pinned one.
    """

    def __init__(
        self, store: Store, fetch: FetchDocument, gate: Gate, *, loopback_host: str | None, now: Callable[[], float]
    ) -> None:
        self._store = store
        self._fetch = fetch
        self._gate = gate
        self._under_way: dict[str, int] = {}
        self._loopback_host = loopback_host
        self._now = now

    def claims(self, client_id: str) -> bool:
        """Say whether a client_id is meant as the address of a document."""
        return client_id[:8].lower().startswith(("https:", "http:"))

    async def find(self, client_id: str, *, asker: Asker | None = None) -> Client:
        """Return the client.

        Args:
            client_id: The address of its document.
            asker: Whose fetch it is, so that it counts as one; None: it is on the way of someone who was let in.

        Raises:
            BadDocument: The address is not acceptable, or there is no acceptable document, old copy or pinned one.
            TooManyRequests: This asker had too many fetched, and there is no copy.
        """
        check_client_id(client_id, loopback_host=self._loopback_host)
        raw = await self._store.get(_key(client_id))
        known = None if raw is None else from_json(Document, raw)
        now = self._now()
        if known is not None and now < known.fresh_until:
            return known.client()
        kept = known is not None and known.kept
        try:
            # A document that an owner's grant stands on is counted against nobody. It shares the places of `cimd_fetch`
            # with everybody's; where strangers hold all of them, the copy serves once the time for a fetch is over.
            fetched = await self._fetch_for(None if kept else asker, client_id)
            found = read_document(client_id, fetched.body)
        except (DocumentUnavailable, BadDocument, TooManyRequests) as failed:
            fallback = self._fallback(client_id, known, now)
            if fallback is None:
                if isinstance(failed, TooManyRequests):
                    raise
                why = str(failed)
                if isinstance(failed, DocumentUnavailable):
                    log.info("document_unavailable", reason=why)
                    why = failed.shown
                raise BadDocument(f"This app's client metadata document is not usable: {why}") from None
            found = replace(fallback, fresh_until=now + RETRY_S, kept=kept)
        else:
            found = replace(found, fetched_at=now, fresh_until=now + fresh_for_s(fetched), kept=kept)
        # Anyone may name any number of addresses; beyond the budget a document is fetched anew each time it is needed.
        if known is not None or client_id in PINNED or await self._gate.spend(DOCUMENT_RECORDS):
            await self._write(found)
        return found.client()

    async def keep(self, client: Client) -> None:
        """Note that an owner's grant uses this client, so a copy of its document is kept for hard times."""
        raw = await self._store.get(_key(client.client_id))
        if raw is None:  # it was beyond the budget; at its next use it is fetched again
            fetched_at = client.created_at
            raw = to_json(Document(client.client_id, client.name, client.redirect_uris, fetched_at, fetched_at, True))
        # As it is stored, which may be more than this version knows of it.
        await self._store.put(_key(client.client_id), amended(raw, kept=True), ttl_s=_USED_LIFE_S)

    async def _fetch_for(self, asker: Asker | None, client_id: str) -> Fetched:
        if asker is None:
            return await self._fetch(client_id)
        with self._place(asker):
            await self._gate.admit(DOCUMENT, asker)
            return await self._fetch(client_id)

    @contextmanager
    def _place(self, asker: Asker) -> Iterator[None]:
        """Take one of this asker's places."""
        holder = asker.site or asker.tag
        taken = self._under_way.get(holder, 0)
        if taken >= _AT_ONCE[asker.kind]:
            raise TooManyRequests(retry_after_s=_BUSY_S)
        self._under_way[holder] = taken + 1
        try:
            yield
        finally:
            self._under_way[holder] -= 1
            if not self._under_way[holder]:
                del self._under_way[holder]

    async def _write(self, entry: Document) -> None:
        ttl_s = _USED_LIFE_S if entry.kept else _UNUSED_LIFE_S
        await self._store.put(_key(entry.client_id), to_json(entry), ttl_s=ttl_s)

    def _fallback(self, client_id: str, known: Document | None, now: float) -> Document | None:
        if known is not None and now - known.fetched_at <= STALE_MAX_S:
            return known
        pinned = PINNED.get(client_id)
        return None if pinned is None else read_document(client_id, _body(client_id, pinned))


def check_client_id(client_id: str, *, loopback_host: str | None) -> None:
    """Check the address of a document.

    Args:
        client_id: The address, as the app sent it.
        loopback_host: The host of this server if it runs on loopback, else None. Documents on that very host are then
            accepted, over http too: the draft's exception, for trying things out offline.

    Raises:
        BadDocument: It is not https with a path, or has a dot segment, fragment or user name.
    """
    if len(client_id) > MAX_ID_CHARS or "#" in client_id or not _ID_CHARACTERS.fullmatch(client_id):
        raise BadDocument(
            f"The client_id must be an address of at most {MAX_ID_CHARS} characters, percent-encoded, no fragment."
        )
    try:
        parts = urlsplit(client_id)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadDocument("The client_id has a host or port that cannot be read.") from None
    if (
        not host
        or port == 0
        or not PLAIN_AUTHORITY.fullmatch(parts.netloc)
        or not client_id.startswith(f"{parts.scheme}://")
    ):
        raise BadDocument("The client_id must be an address that names a host.")
    if parts.scheme != "https" and not (parts.scheme == "http" and host == loopback_host):
        raise BadDocument("The client_id must be an https address.")
    if "@" in parts.netloc:
        raise BadDocument("The client_id must not have a user name or password.")
    _check_path(parts)


def _check_path(parts: SplitResult) -> None:
    if parts.path in {"", "/"}:
        raise BadDocument("The client_id must have a path, the address of one document.")
    if any(_DOTS.fullmatch(segment) for segment in parts.path.split("/")):
        raise BadDocument("The client_id must not have dot segments in its path.")


def read_document(client_id: str, body: bytes) -> Document:
    """Read a document into a client that authenticates by PKCE alone (`none`).

    Redirect URIs that are not served here are left out; the others still work.

    Raises:
        BadDocument: No JSON object, another client_id, no name, no usable redirect URI, or an app that insists on
            authenticating in a way that is not served.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise BadDocument("the document is not JSON.") from None
    if not isinstance(document, dict):
        raise BadDocument("the document is not a JSON object.")
    if document.get("client_id") != client_id:
        raise BadDocument("its client_id is not the address that it was fetched from.")
    _check_authentication(document)
    try:
        name = client_name(document)
    except BadMetadata:
        raise BadDocument("its client_name is not a name: no text, or far too long.") from None
    if not name:
        raise BadDocument("it has no client_name.")
    return Document(client_id, name, _redirects(document.get("redirect_uris")), 0.0, 0.0, False)


def _redirects(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_REDIRECTS:
        raise BadDocument(f"its redirect_uris are not a list of at most {MAX_REDIRECTS}.")
    usable = []
    for each in value:
        try:
            usable.append(check_redirect(each))
        except BadRedirect:
            continue
    if not usable:
        raise BadDocument("none of its redirect_uris is https, or http on loopback.")
    return tuple(usable)


def _check_authentication(document: Mapping[str, object]) -> None:
    if document.keys() & {"client_secret", "client_secret_expires_at"}:
        raise BadDocument("it carries a client secret, which a public document must not.")
    # ChatGPT prefers private_key_jwt and says in the second member that `none` will do.
    method = document.get("token_endpoint_auth_method", "none")
    others = document.get("token_endpoint_auth_methods_supported")
    if method != "none" and not (isinstance(others, list) and "none" in others):
        raise BadDocument(
            "it asks for a token_endpoint_auth_method other than none, and this server has only none for such clients."
        )


def fresh_for_s(fetched: Fetched) -> float:
    """Return for how long a document may be used without asking again, in seconds, within our own bounds.

    Source: RFC 9111 sections 4.2 and 5.2.2.
    """
    directives = {
        name.strip().lower(): value.strip().strip('"')
        for name, _, value in (part.partition("=") for part in fetched.cache_control.split(","))
    }
    max_age = directives.get("max-age", "")
    if directives.keys() & {"no-store", "no-cache"} or not max_age.isdecimal():
        return FRESH_MIN_S
    age_s = int(fetched.age[:9]) if fetched.age.isdecimal() else 0
    return min(max(int(max_age[:9]) - age_s, FRESH_MIN_S), FRESH_MAX_S)


def _body(client_id: str, pinned: Mapping[str, object]) -> bytes:
    return json.dumps({"client_id": client_id, **pinned}).encode()


def _key(client_id: str) -> str:
    return f"cimd:{token_hash(client_id)}"
