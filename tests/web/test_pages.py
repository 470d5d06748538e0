"""Our pages: what they say without a sign-in, the headers they carry, and that nothing foreign is loaded."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import Message

from app.errors import SealBroken, StoreUnavailable
from app.web import pages as pages_module
from app.web.overview import moment
from app.web.pages import Pages, static_routes
from tests.signin.stage import PUBLIC_URL, staged

pytestmark = pytest.mark.anyio
STATIC = Path(pages_module.__file__).parent / "static"


async def fetched(folder: Path, path: str, *, sandbox: bool = False) -> httpx2.Response:
    async with staged(folder, sandbox=sandbox) as stage:
        return await stage.browser().get(path)


async def test_the_first_page_gives_the_address_the_exact_redirect_uri_and_a_line_for_each_app(tmp_path: Path) -> None:
    page = await fetched(tmp_path, "/")

    assert page.status_code == 200
    assert f"{PUBLIC_URL}/mcp" in page.text
    assert f'<p class="code">{PUBLIC_URL}/callback/oura/</p>' in page.text
    assert f"claude mcp add --transport http vitals {PUBLIC_URL}/mcp" in page.text
    for app in ("claude.ai", "ChatGPT", "Claude Code", "Cursor", "VS Code"):
        assert app in page.text


async def test_the_privacy_page_says_what_is_kept_for_how_long_and_what_never(tmp_path: Path) -> None:
    page = await fetched(tmp_path, "/privacy")

    for words in ("What is kept, and for how long", "ten minutes", "30 days", "15 minutes", "What never", "telemetry"):
        assert words in page.text


async def test_the_sandbox_says_on_every_page_that_the_data_is_nobodys(tmp_path: Path) -> None:
    for number, path in enumerate(("/", "/privacy", "/connections")):
        page = await fetched(tmp_path / str(number), path, sandbox=True)
        assert "<strong>Sandbox.</strong>" in page.text


@pytest.mark.parametrize("path", ["/", "/privacy", "/connections", "/callback/oura/", "/authorize"])
async def test_every_page_carries_the_headers_and_loads_nothing_from_elsewhere(tmp_path: Path, path: str) -> None:
    page = await fetched(tmp_path, path)

    assert page.headers["content-security-policy"] == pages_module.CONTENT_SECURITY_POLICY
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    loaded = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="([^"]+)"', page.text)
    assert loaded
    assert all(address.startswith("/static/") for address in loaded)
    assert "<style" not in page.text
    assert " style=" not in page.text
    assert not re.findall(r"<script(?! src=)", page.text)


async def test_every_static_file_that_a_page_names_is_there_with_its_type(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        browser = stage.browser()
        page = await browser.get("/connections")
        kinds = {}
        for address in set(re.findall(r'"(/static/[^"]+)"', page.text)):
            got = await browser.get(address)
            assert got.status_code == 200
            assert "immutable" in got.headers["cache-control"]
            kinds[address.partition("?")[0]] = got.headers["content-type"].partition(";")[0]

    assert kinds["/static/style.css"] == "text/css"
    assert kinds["/static/icon.svg"] == "image/svg+xml"
    assert kinds["/static/zone.js"] in {"text/javascript", "application/javascript"}


async def test_a_static_address_that_does_not_name_its_content_is_not_kept_for_good(tmp_path: Path) -> None:
    assert (await fetched(tmp_path / "a", "/static/icon.svg")).headers["cache-control"] == "max-age=3600"
    for outside in ("/static/../pages.py", "/static/..%2fpages.py", "/static/none.css"):
        assert (await fetched(tmp_path / "b", outside)).status_code == 404


def open_files() -> list[Path]:
    return [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at open files, as Linux shows them")
async def test_a_static_file_whose_answer_is_not_taken_is_not_kept_open() -> None:
    sending = anyio.Event()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            sending.set()
            await anyio.sleep_forever()

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    asked = {"type": "http", "method": "GET", "path": "/static/icon.png", "headers": [], "query_string": b""}
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(Router(static_routes()), asked, receive, send)
            await sending.wait()
            opened = open_files()
            group.cancel_scope.cancel()

    assert STATIC / "icon.png" not in opened


def test_no_static_file_reaches_out() -> None:
    for file in STATIC.iterdir():
        if file.suffix in {".css", ".js"}:
            text = file.read_text()
            assert "//" not in re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
            assert "@import" not in text
            assert "url(" not in text


class _Outline(HTMLParser):
    """Collects what a screen reader goes by."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.labelled: set[str] = set()
        self.inputs: list[dict[str, str | None]] = []
        self.ids: list[str] = []
        self.lang: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "html":
            self.lang = given.get("lang")
        if tag == "label":
            self.labelled.add(given["for"] or "")
        if tag == "input" and given.get("type") != "hidden":
            self.inputs.append(given)
        if given.get("id"):
            self.ids.append(given["id"] or "")


@pytest.mark.parametrize("path", ["/", "/privacy", "/connections", "/callback/oura/", "/authorize", "consent"])
async def test_a_page_has_a_language_one_first_heading_no_skipped_level_and_labelled_fields(
    tmp_path: Path, path: str
) -> None:
    async with staged(tmp_path) as stage:
        browser = stage.browser()
        page = await (browser.get("/authorize", await stage.params()) if path == "consent" else browser.get(path))

    outline = _Outline()
    outline.feed(page.text)
    assert outline.lang == "en"
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    assert all(field["id"] in outline.labelled for field in outline.inputs)
    assert len(outline.ids) == len(set(outline.ids))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("text", "ground"), ("text", "sheet"), ("text", "notice"), ("text", "code"), ("soft", "ground"),
        ("soft", "sheet"), ("accent", "sheet"), ("accent", "ground"), ("accent-strong", "sheet"),
        ("on-accent", "accent"), ("on-accent", "accent-strong"), ("danger", "sheet"), ("danger", "code"),
    ],
)  # fmt: skip
def test_text_stands_out_from_its_ground_in_both_schemes(scheme: int, ink: str, paper: str) -> None:
    """Source: WCAG 2.2, 1.4.3, contrast of at least 4.5:1."""
    sheet = (STATIC / "style.css").read_text()
    blocks = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    ]
    light, dark = sorted((_luminance(blocks[scheme][name]) for name in (ink, paper)), reverse=True)

    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("exc", "status", "words"),
    [
        pytest.param(HTTPException(404, "CANARY"), 404, "Nothing here", id="404"),
        pytest.param(HTTPException(405, "CANARY", {"Allow": "GET"}), 405, "Not that way", id="405"),
        pytest.param(HTTPException(418, "CANARY"), 418, "could not be answered", id="any other"),
        pytest.param(StoreUnavailable("CANARY"), 503, "lets nobody in", id="store"),
        pytest.param(StoreUnavailable("CANARY", outage="full"), 503, "no room left", id="store full"),
        pytest.param(StoreUnavailable("CANARY", outage="read_only"), 503, "can read its own", id="store read-only"),
        pytest.param(StoreUnavailable("CANARY", outage="unusable"), 503, "does not help", id="store unusable"),
        pytest.param(SealBroken("CANARY", missing="3fa2"), 503, "its key (3fa2) is not", id="sealed under another key"),
        pytest.param(RuntimeError("CANARY"), 500, "The fault is ours", id="bug"),
    ],
)
def test_an_error_has_a_page_of_ours_that_tells_nothing_of_the_inside(exc: Exception, status: int, words: str) -> None:
    page = Pages(public_url=PUBLIC_URL).for_error(exc)

    assert page.status_code == status
    assert words in bytes(page.body).decode()
    assert b"CANARY" not in page.body
    assert page.headers["content-security-policy"]


def test_an_error_keeps_the_headers_that_belong_to_it() -> None:
    page = Pages(public_url=PUBLIC_URL).for_error(HTTPException(405, headers={"Allow": "GET"}))

    assert page.headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("zone", "text"),
    [("Europe/Helsinki", "10 March 2026, 01:30"), (None, "9 March 2026, 23:30 UTC")],
)
def test_a_moment_is_written_in_the_owners_zone(zone: str | None, text: str) -> None:
    assert moment(1773099000, zone) == text


@pytest.mark.parametrize("status", [403, 404, 405, 413, 418])
def test_a_page_of_an_error_says_where_to_go_on(status: int) -> None:
    page = bytes(Pages(public_url=PUBLIC_URL).for_error(HTTPException(status)).body).decode()

    shown = page.partition("<main>")[2].partition("</main>")[0]
    assert re.findall(r'href="([^"]+)"', shown) == ["/", "/connections"]


def test_the_page_under_another_host_leads_to_our_address_and_needs_nothing_else_of_that_host() -> None:
    page = Pages(public_url=PUBLIC_URL).for_error(HTTPException(421, "CANARY"))

    text = bytes(page.body).decode()
    assert page.status_code == 421
    assert re.findall(r'href="([^"]+)"', text) == ["data:,", f"{PUBLIC_URL}/", f"{PUBLIC_URL}/connections"]
    assert "src=" not in text
    assert "location" not in page.headers
    sheet = text.partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "CANARY" not in text
