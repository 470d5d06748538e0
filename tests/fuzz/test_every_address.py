"""Every address of the application, whatever its method, headers and body."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Mount, Route

from tests.app_under_test import Vitals
from tests.fuzz.asking import Request, ask
from tests.fuzz.shapes import METHODS, bodies, forms, headers, in_pieces, in_query
from tests.fuzz.trying import examples

pytestmark = pytest.mark.anyio

# Every route of the application; a test holds that this is so. What lies beside them must be refused as well.
ROUTES = (
    b"/", b"/.well-known/oauth-authorization-server", b"/.well-known/oauth-authorization-server/mcp",
    b"/.well-known/oauth-authorization-server/mcp/", b"/.well-known/oauth-protected-resource",
    b"/.well-known/oauth-protected-resource/mcp", b"/.well-known/oauth-protected-resource/mcp/",
    b"/.well-known/{rest:path}", b"/authorize", b"/callback/oura", b"/callback/oura/", b"/connections",
    b"/connections/disconnect", b"/connections/end", b"/connections/signin", b"/connections/signout", b"/healthz",
    b"/mcp", b"/mcp/", b"/privacy", b"/readyz", b"/register", b"/revoke", b"/static", b"/token",
)  # fmt: skip
BESIDE = (
    b"/static/", b"/static/style.css", b"/static/../pages.py", b"/static/%2e%2e/pages.py", b"/static/..%2fpages.py",
    b"/static/%00", b"/static//etc/passwd", b"/static/" + b"a" * 5_000, b"/static/%ff", b"//mcp", b"/MCP", b"/mcp%2f",
    b"/.well-known/openid-configuration", b"/mcp%00", b"/%6dcp", b"/mcp;x", b"/mcp/x", b"/x/../mcp", b"/favicon.ico",
    b"/.env", b"/%", b"/%zz", b"/%ff%fe", b"/%ed%a0%80", b"/%c0%ae%c0%ae/", b"/" + b"a" * 20_000, b"/a\\b", b"*",
    b"http://evil.example/mcp", b"/authorize/", b"/token/", b"/connections/x", b"/callback/oura//",
)  # fmt: skip


async def test_the_list_of_addresses_is_that_of_the_application(vitals: Vitals) -> None:
    routed = {route.path for route in vitals.app.routes if isinstance(route, Route | Mount)}

    assert routed == {path.decode() for path in ROUTES}
    assert all(isinstance(route, Route | Mount) for route in vitals.app.routes)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    path = draw(st.sampled_from(ROUTES) | st.sampled_from(BESIDE))
    query = in_query(draw(st.just(b"") | forms()))
    return Request(
        draw(st.sampled_from(METHODS)),
        path + b"?" + query if query else path,
        draw(headers),
        draw(bodies.flatmap(in_pieces)),
        hangs_up=draw(st.integers(0, 9)) == 0,
    )


@given(request=requests())
@examples(400)
async def test_no_request_is_a_fault_of_ours_hangs_or_reaches_oura(vitals: Vitals, request: Request) -> None:
    asked = len(vitals.simulator.log)

    await ask(vitals.app, request)

    assert len(vitals.simulator.log) == asked
