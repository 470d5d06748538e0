"""The pages under vitals://, over real HTTP on both eras: static, complete, and a clear error for any other."""

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from app.sources.base import DateKind
from app.sources.oura.catalog import COLLECTIONS
from app.sources.registry import Sources
from app.tools.about.reference import ABOUT, catalog_page, page_of
from tests.tools.fakes import Connector, FakeSource, sleep
from tests.tools.served import served

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
NOT_FOUND = {"legacy": -32002, "2026-07-28": -32602}
HOSTILE = (
    "vitals://nothing",
    "vitals://collections/nope",
    "vitals://collections/",
    "vitals://collections/../about",
    "vitals://collections/%2e%2e",
    "vitals://collections/sleep?x=1",
    "vitals://collections/" + "x" * 5000,
    "file:///etc/passwd",
    "",
)


@ERAS
async def test_the_list_is_small_and_a_template_leads_to_the_rest(era: str) -> None:
    with anyio.fail_after(20):
        async with served(Connector(FakeSource())) as at, Client(at.url, mode=era) as client:
            listed = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resource_templates

    assert {resource.uri for resource in listed} == {"vitals://about", "vitals://catalog"}
    assert [template.uri_template for template in templates] == ["vitals://collections/{name}"]
    shown = [(r.title, r.description, r.mime_type) for r in listed]
    shown += [(t.title, t.description, t.mime_type) for t in templates]
    assert all(title and description and kind == "text/markdown" for title, description, kind in shown)


@ERAS
async def test_every_page_is_readable_and_asks_the_source_for_nothing(era: str) -> None:
    connector = Connector(FakeSource({"sleep": [sleep("2026-03-10")]}))
    uris = ["vitals://about", "vitals://catalog", *(f"vitals://collections/oura.{name}" for name in COLLECTIONS)]

    with anyio.fail_after(20):
        async with served(connector) as at, Client(at.url, mode=era) as client:
            pages = {uri: (await client.read_resource(uri)).contents for uri in uris}

    for uri, contents in pages.items():
        (page,) = contents
        assert isinstance(page, TextResourceContents)
        assert page.uri == uri
        assert page.text.startswith("# ")
        assert "2026-03-10" not in page.text
    assert connector.source.asked == []


@ERAS
async def test_an_unknown_resource_gets_the_error_of_its_era(era: str) -> None:
    codes = {}
    with anyio.fail_after(20):
        async with served(Connector(FakeSource())) as at, Client(at.url, mode=era) as client:
            for uri in HOSTILE:
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(uri)
                codes[uri] = refused.value.error.code
                assert "Traceback" not in str(refused.value)

    assert set(codes.values()) == {NOT_FOUND[era]}, codes


def test_the_pages_say_everything_that_the_catalogue_knows() -> None:
    sources = Sources([FakeSource()])
    whole = catalog_page(sources)

    for collection in COLLECTIONS.values():
        page = page_of(sources, collection.name)
        assert page is not None
        assert page == page_of(sources, collection.qualified)
        assert f"**{collection.qualified}**: {collection.carries}" in whole
        for said in (collection.carries, str(collection.date_kind), *collection.notes):
            assert said in page
        for field in collection.fields:
            assert f"- `{field.name}` (" in page
            assert field.meaning in page
            assert (field.unit or "") in page


def test_the_page_about_it_names_no_product_it_cannot_be_read_without() -> None:
    assert "Oura" not in ABOUT
    for word in ("seconds", "time zone", "woke up", "synthetic", "continue_from", "never zero", "diagnosis"):
        assert word in ABOUT


def test_the_page_names_what_carries_no_clock() -> None:
    dated = (one for one in COLLECTIONS.values() if one.date_kind is not DateKind.UNDATED)
    silent = {one.name for one in dated if not (one.clock_field or one.dense or one.grows)}

    assert silent == {
        "daily_sleep", "daily_readiness", "daily_resilience", "daily_spo2", "daily_cardiovascular_age", "sleep_time"
    }  # fmt: skip
    assert "scores of sleep and readiness, resilience, blood oxygen, heart age, bedtime advice) carry no clock" in ABOUT
