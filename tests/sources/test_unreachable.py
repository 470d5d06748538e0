"""Why no answer came is said in words that tell whose concern it is, and never with an address."""

import socket
import ssl

import httpx2
import pytest

from app.sources.oura.oauth import OuraOAuth
from app.sources.oura.unreachable import next_step, why
from app.vault.outcomes import NotSent

ADDRESS = "https://oura.test/?next_token=secret"


def caused(error: Exception, *causes: Exception) -> Exception:
    """Chain errors as the libraries do."""
    step: BaseException = error
    for cause in causes:
        step.__cause__ = cause
        step = cause
    return error


def certificate(said: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, ADDRESS)
    error.verify_message = said
    return error


UNKNOWN = socket.gaierror(socket.EAI_NONAME, ADDRESS)


@pytest.mark.parametrize(
    ("error", "words", "then"),
    [
        pytest.param(
            caused(httpx2.ConnectError(ADDRESS), OSError(), certificate("certificate has expired")),
            "its certificate is not to be trusted: certificate has expired (ConnectError)",
            "Nothing was sent",
            id="certificate",
        ),
        pytest.param(
            caused(httpx2.ConnectError(ADDRESS), UNKNOWN),
            "its name cannot be resolved, DNS (ConnectError)",
            "name server",
            id="DNS",
        ),
        pytest.param(
            caused(httpx2.ConnectError(ADDRESS), ssl.SSLError(1, ADDRESS)),
            "no secure connection came about, TLS (ConnectError)",
            "again in a minute",
            id="TLS",
        ),
        pytest.param(
            httpx2.ConnectTimeout(ADDRESS), "no connection in time (ConnectTimeout)", "again in a minute", id="SYN"
        ),
        pytest.param(httpx2.ConnectError(ADDRESS), "no connection (ConnectError)", "again in a minute", id="refused"),
        pytest.param(TimeoutError(), "no whole answer in time (TimeoutError)", "again in a minute", id="deadline"),
        pytest.param(
            httpx2.DecodingError(ADDRESS),
            "its answer could not be unpacked (DecodingError)",
            "again in a minute",
            id="no gzip",
        ),
        pytest.param(
            httpx2.RemoteProtocolError(ADDRESS),
            "its answer was cut off (RemoteProtocolError)",
            "again in a minute",
            id="cut",
        ),
    ],
)
def test_each_kind_has_its_words_and_its_next_step(error: Exception, words: str, then: str) -> None:
    assert why(error) == words
    assert then in next_step(error)
    assert "oura.test" not in why(error) + next_step(error)


def test_a_text_from_a_certificate_is_bounded_and_printable_and_a_circle_of_causes_ends() -> None:
    first, second = httpx2.ConnectError("x"), certificate("\x1b[31m" + "x" * 1000)
    first.__cause__, second.__cause__ = second, first

    assert why(first).isprintable()
    assert len(why(first)) < 200


@pytest.mark.anyio
async def test_a_token_endpoint_without_a_name_is_named_so_and_nothing_was_spent() -> None:
    def unknown(request: httpx2.Request) -> httpx2.Response:
        raise caused(httpx2.ConnectError(ADDRESS), UNKNOWN)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(unknown)) as http:
        oauth = OuraOAuth(
            http=http,
            client_id="client",
            client_secret="secret",
            authorize_url="https://oura.example/oauth/authorize",
            token_urls=("https://oura.example/oauth/token",),
            revoke_urls=(),
            scopes=("daily",),
            redirect_uri="https://vitals.example/callback/oura/",
        )
        with pytest.raises(NotSent, match=r"token endpoint: its name cannot be resolved, DNS") as caught:
            await oauth.refresh("rt", token_url="https://oura.example/oauth/token")

    assert "oura" not in str(caught.value).replace("Oura", "")
