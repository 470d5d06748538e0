"""Fetches client metadata documents: the only outgoing HTTP of the authorization server.

Anyone can name any address as a client_id, so this is where server-side request forgery would start. The host is
resolved once, every address it has must be public, and the connection goes to the address that was checked, whatever
the name resolves to a moment later. TLS and the Host header still use the name. No redirects, no cookies, no proxy from
the environment, five seconds, five kilobytes.

Source: draft-ietf-oauth-client-id-metadata-document (64566e8), sections on fetching and on server-side request forgery.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import anyio
import httpx2

from app.authserver.clients.addresses import is_loopback, is_public
from app.authserver.clients.cimd import DocumentUnavailable, Fetched

FETCH_S = 5.0  # all of it; claude.ai gives a server 10 s for a whole token request
MAX_BYTES = 5 * 1024  # the draft's figure
_NOT_FETCHED = "it could not be fetched. The log of this server says why."
_AT_ONCE = 16  # strangers can cause fetches; this many of them may wait at a time, of one asker fewer (`cimd`)
_RESOLVERS = ThreadPoolExecutor(_AT_ONCE, "cimd-dns")
"""Threads for looking names up. A look-up cannot be stopped, and a name server that never answers holds its thread for
many seconds: in the event loop's own few threads it would keep everyone from Oura."""
_ADDRESSES_TRIED = 2  # one of each family, when both exist

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # host, port → IP addresses; raises OSError


class DocumentFetcher:
    """Fetches one document per call.

    Args:
        loopback_host: This server's host if it runs on loopback, else None: documents there may then be on loopback.
        resolve: Name resolution; the system's unless a test says otherwise.
        transport: What sends; httpx2's own unless a test says otherwise.
        fetch_s: Time for one document, in seconds.
    """

    def __init__(
        self,
        *,
        loopback_host: str | None,
        resolve: Resolve | None = None,
        transport: Callable[[], httpx2.AsyncBaseTransport] | None = None,
        fetch_s: float = FETCH_S,
    ) -> None:
        self._loopback_host = loopback_host
        self._resolve = resolve or _system_resolve
        self._transport = transport or _Direct()
        self._fetch_s = fetch_s
        self._places = anyio.CapacityLimiter(_AT_ONCE)

    async def __call__(self, url: str) -> Fetched:
        """Fetch a document whose address has been checked.

        Raises:
            DocumentUnavailable: It was not there in time, or it was not allowed to look.
        """
        try:
            with anyio.fail_after(self._fetch_s):
                async with self._places:
                    return await self._fetch(httpx2.URL(url))
        except TimeoutError:
            raise DocumentUnavailable(
                f"its server did not answer within {self._fetch_s:g} seconds.", shown=_NOT_FETCHED
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError):
            raise DocumentUnavailable("its server could not be reached.", shown=_NOT_FETCHED) from None

    async def _fetch(self, url: httpx2.URL) -> Fetched:
        addresses = await self._allowed_addresses(url)
        async with httpx2.AsyncClient(
            transport=self._transport(), trust_env=False, follow_redirects=False, timeout=self._fetch_s
        ) as client:
            for address in addresses[:-1]:
                try:
                    return await self._ask(client, url, address)
                except httpx2.ConnectError:
                    continue  # the other family
            return await self._ask(client, url, addresses[-1])

    async def _allowed_addresses(self, url: httpx2.URL) -> list[str]:
        port = url.port or (443 if url.scheme == "https" else 80)
        host = _ascii_host(url)
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise DocumentUnavailable("its host name does not resolve.", shown=_NOT_FETCHED) from None
        allowed = is_loopback if self._loopback_host is not None and host == self._loopback_host else is_public
        # One bad address is enough: a name that points both outside and inside is an attack, not a configuration.
        if not found or not all(allowed(each) for each in found):
            raise DocumentUnavailable(
                "its host is not on the public internet, so it was not called.", shown=_NOT_FETCHED
            )
        return list(dict.fromkeys(found))[:_ADDRESSES_TRIED]

    async def _ask(self, client: httpx2.AsyncClient, url: httpx2.URL, address: str) -> Fetched:
        async with client.stream(
            "GET",
            url.copy_with(host=address),
            headers={
                "Host": url.netloc.decode("ascii"),
                "Accept": "application/json",
                "Accept-Encoding": "identity",  # what is counted is what is read
                "User-Agent": "vitals",
            },
            extensions={"sni_hostname": _ascii_host(url)} if url.scheme == "https" else {},
        ) as answer:
            if answer.status_code != 200:
                raise DocumentUnavailable(f"its server answered {answer.status_code}.")
            if not _is_json(answer.headers.get("content-type", "")):
                raise DocumentUnavailable("its server did not answer with JSON.")
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise DocumentUnavailable("its server compressed it, which was not asked for.")
            body = b""
            async for part in answer.aiter_bytes():  # nothing is unpacked: any content-encoding was refused
                body += part
                if len(body) > MAX_BYTES:
                    raise DocumentUnavailable(f"it is larger than {MAX_BYTES} bytes.")
            return Fetched(body, answer.headers.get("cache-control", ""), answer.headers.get("age", ""))


class _Direct:
    """httpx2's transport, with the certificate store read once and not at every fetch."""

    def __init__(self) -> None:
        self._ssl: ssl.SSLContext | None = None

    def __call__(self) -> httpx2.AsyncBaseTransport:
        if self._ssl is None:
            self._ssl = httpx2.create_ssl_context(trust_env=False)
        return httpx2.AsyncHTTPTransport(verify=self._ssl, trust_env=False)


async def _system_resolve(host: str, port: int) -> list[str]:
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, ask)
    return [str(address[0]) for *_, address in found]


def _ascii_host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii")


def _is_json(content_type: str) -> bool:
    media = content_type.partition(";")[0].strip().lower()
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
