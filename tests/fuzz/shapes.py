"""Hostile values, and the forms, JSON texts, headers and bodies that are made of them."""

import json
from urllib.parse import quote_from_bytes

from hypothesis import strategies as st

from tests.app_under_test import URL
from tests.attacks.attacker import CHALLENGE, REDIRECT, VERIFIER

# What has broken a parser somewhere: bytes that are no text, text that is no word, numbers that are no numbers.
NASTY = (
    b"", b" ", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xae\xc0\xae", b"\xf4\x90\x80\x80",
    "\u202e\u200b\ufeff".encode(),
    "💥".encode() * 50, "\uff11\u0661".encode(), b"a" * 5_000, b"\r\nSet-Cookie: a=b", b"{{7*7}}", b"<script>", b"%00",
    b"%25%00", b"%", b"%zz", b"%u0041", b"../../etc/passwd", b"a?b", b"a#b", b"%2e%2e", b"' OR 1=1--", b"1e400", b"-1",
    b"9" * 5_000, b"NaN", b"null", b"{}", b"[]", b"true", b"1.aa", b".", b"S256", b"plain", b"code", b"A" * 43,
    b"vat_x", b"vrt_x", b"vco_x", b"health:read", b"offline_access", b"http://[", b"https://[::1", b"//evil.example",
    b"javascript:alert(1)", b"https://evil.example/", b"https://a:99999/b", b"https://user@a/b", b"http://127.0.0.1:9/x",
    b"approve", b"deny", b"Europe/Berlin", b"Etc/../../x", b"authorization_code", b"refresh_token",
)  # fmt: skip
NAMES = (
    b"client_id", b"redirect_uri", b"response_type", b"state", b"scope", b"code_challenge", b"code_challenge_method",
    b"resource", b"response_mode", b"prompt", b"request", b"request_uri", b"code", b"code_verifier", b"grant_type",
    b"refresh_token", b"token", b"token_type_hint", b"client_secret", b"csrf", b"decision", b"timezone", b"iss",
    b"error", b"error_description", b"grant", b"client_assertion", b"client_assertion_type", b"",
)  # fmt: skip
METHODS = (
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "X" * 300,
)  # fmt: skip
TYPES = (
    b"application/x-www-form-urlencoded", b"application/x-www-form-urlencoded; charset=utf-7", b"application/json",
    b"application/json; charset=utf-16", b"application/json; charset=\xff", b"multipart/form-data; boundary=x",
    b"multipart/form-data", b"multipart/form-data; boundary=" + b"x" * 5_000, b"text/plain; charset=none", b"text/xml",
    b"application/x-www-form-urlencoded, application/json", b";", b"/", b"", b"application/" + b"x" * 5_000,
)  # fmt: skip

values = st.one_of(
    st.sampled_from(NASTY),
    st.binary(max_size=24),
    st.text(max_size=12).map(lambda t: t.encode("utf-8", "surrogatepass")),
)


def _encode(value: bytes, how: int) -> bytes:
    """Percent-encode properly, partly, or not at all."""
    if how == 0:
        return quote_from_bytes(value, safe="").encode()
    if how == 1:
        return quote_from_bytes(value, safe="%/:?#[]@!$'()*,;=").encode()
    return value.replace(b" ", b"+")


def _joined(pairs: list[tuple[bytes, bytes]], hows: list[int], glue: bytes) -> bytes:
    return glue.join(name + b"=" + _encode(value, how) for (name, value), how in zip(pairs, hows, strict=False))


def forms(*sound: tuple[bytes, bytes]) -> st.SearchStrategy[bytes]:
    """A form: of `sound` pairs (all, some, or none), with others put between, in any order, some of them twice."""
    others = st.tuples(st.sampled_from(NAMES) | values, values)
    kept = st.just(list(sound)) | (st.lists(st.sampled_from(sound), max_size=8) if sound else st.just([]))
    pairs = st.tuples(kept, st.lists(others, max_size=3)).flatmap(lambda both: st.permutations([*both[0], *both[1]]))
    hows = st.lists(st.sampled_from([0, 0, 0, 0, 1, 2]), min_size=16, max_size=16)
    return st.builds(_joined, pairs, hows, st.sampled_from([b"&", b"&", b"&", b"&&", b";"]))


def _numbered(start: int, stop: int) -> st.SearchStrategy[int]:
    return st.integers(start, stop) | st.sampled_from([0, -1, 2**31, 2**53 + 1, 2**63, 2**64, 10**400])


scalars = st.one_of(
    st.none(), st.booleans(), _numbered(-10, 10), st.sampled_from([float("nan"), float("inf"), 1e308, -0.0, 1.5]),
    values.map(lambda raw: raw.decode("utf-8", "surrogatepass") if raw.isascii() else raw.decode("latin-1")),
    st.sampled_from(["\ud800", "\udfff\ud800", "\0", "\u2028", "a" * 3_000]),
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


def as_json(value: object) -> bytes:
    """Write JSON, also what is none by the letter: NaN, lone surrogates as escapes, numbers of any length."""
    return json.dumps(value).encode()


def nested(depth: int) -> tuple[bytes, ...]:
    """JSON that is nothing but depth."""
    return (
        b"[" * depth,
        b"[" * depth + b"]" * depth,
        b'{"a":' * depth + b"1" + b"}" * depth,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}",
    )


NOT_JSON = (
    b"", b"{", b'{"a":1,}', b"{'a':1}", b'"\\ud800"', b'{"a":1,"a":2}', b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0", b"nul",
    b"01", b"1" * 5_000, b"-", b'"\x00"', b'{"\\u0000":1}', b'{"__proto__":{"a":1}}', b"/* */{}", b"{}{}",
)  # fmt: skip
PARTS = (
    b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n",
    b"--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"../../x\"\r\n\r\n\0\r\n",
    b"--x\r\n\r\n--x--", b"--y--", b"--x\r\nContent-Disposition: form-data\r\n" + b"A: b\r\n" * 500, b"--x" * 1_000,
)  # fmt: skip
bodies = st.one_of(
    forms(), anything.map(as_json), st.sampled_from(NOT_JSON), st.sampled_from(PARTS), st.binary(max_size=64),
    st.sampled_from(nested(300)),
)  # fmt: skip


def in_pieces(body: bytes) -> st.SearchStrategy[tuple[bytes, ...]]:
    """The same body, whole or in pieces, some of them empty."""
    half = len(body) // 2
    return st.sampled_from([(body,), (body[:half], body[half:]), (b"", body, b""), (body[:1], body[1:])])


def in_query(raw: bytes) -> bytes:
    """What of it can stand in a query: our server's parser lets no byte above 127 through, but another's might."""
    return bytes(each for each in raw if 32 < each != 127 and each != ord("#"))


def _in_header(raw: bytes) -> bytes:
    """What of it the parser lets through in the value of a header."""
    return bytes(each for each in raw if each == 9 or 32 <= each != 127)


_CREDENTIALS = (
    b"Basic", b"Basic !!", b"Basic /zov", b"Basic Og==", b"Basic JTAwJWZmOis=", b"Basic " + b"QQ==" * 2_000, b"Bearer",
    b"Bearer \t", b"bearer x y", b"Bearer " + b"a" * 9_000, b"Bearer vat_" + b"x" * 43, b"Bearer \xff",
    b"Digest a=b", b"",
)  # fmt: skip
_COOKIES = (
    b"", b"=", b";;;", b"__Host-vitals-browser=", b"__Host-vitals-browser=" + b"A" * 43,
    b"__Host-vitals-owner=" + b"A" * 43, b"__Host-vitals-browser=\xff\xfe; __Host-vitals-browser=" + b"B" * 43,
    b'__Host-vitals-owner="\\000\\377"', b"a=" + b"b" * 9_000,
    b"$Version=1; a=b", b"a=b, c=d; e", b"x" * 3_000,
)  # fmt: skip
_HEADERS: dict[bytes, tuple[bytes, ...]] = {
    b"authorization": _CREDENTIALS,
    b"cookie": _COOKIES,
    b"origin": (URL.encode(), b"null", b"https://evil.example", b"", b"http://[", b"\xff", b"https://" + b"a" * 3_000),
    b"referer": (URL.encode() + b"/authorize", b"http://[", b"https://evil.example/", b"\xff", b""),
    b"sec-fetch-site": (b"same-origin", b"cross-site", b"none", b"", b"\xff"),
    b"host": (
        b"evil.example",
        b"",
        b"\xff",
        b"vitals.test:",
        b"vitals.test:443",
        b"VITALS.TEST",
        b"[::1",
        b"a" * 3_000,
    ),
    b"accept": (b"*/*", b"text/html", b"application/json", b"text/event-stream", b";q=0", b",;," * 500, b"\xff"),
    b"accept-language": (b"\xff", b"de" * 2_000),
    b"content-length": (b"0", b"-1", b"9" * 5_000, b"0x10", b"1, 2", b"\xb2"),
    b"transfer-encoding": (b"chunked", b"gzip, chunked", b"identity"),
    b"content-encoding": (b"gzip", b"br", b"x"),
    b"range": (b"bytes=0-", b"bytes=" + b"0-," * 2_000, b"bytes=5-1", b"bytes=-9" + b"9" * 400, b"x", b"bytes=\xb2-"),
    b"if-range": (b"x", b"\xff", b"Thu, 99 Xyz 0000 99:99:99 GMT"),
    b"if-none-match": (b"*", b'"', b'W/"x"', b"\xff"),
    b"if-modified-since": (b"x", b"Thu, 01 Jan 1970 00:00:00 GMT", b"Mon, 01 Jan 99999 00:00:00 GMT", b"0" * 3_000),
    b"expect": (b"100-continue", b"x"),
    b"upgrade": (b"websocket", b"h2c"),
    b"connection": (b"upgrade", b"close, keep-alive"),
    b"x-forwarded-for": (b"evil", b"127.0.0.1, " * 500, b"::1%\xff"),
    b"x-forwarded-proto": (b"ftp", b"https"),
    b"x-forwarded-host": (b"evil.example",),
    b"forwarded": (b"for=_x;host=evil.example", b"\xff"),
    b"mcp-protocol-version": (b"2025-11-25", b"2026-07-28", b"1999-01-01", b"\xff", b"", b"2" * 3_000),
    b"mcp-method": (b"tools/call", b"\xff", b"", b"x" * 3_000),
    b"mcp-name": (b"health_query", b"=?base64?/w==?=", b"=?base64?!?=", b"\xff", b""),
    b"mcp-session-id": (b"../x", b"\xff", b"a" * 3_000, b""),
    b"last-event-id": (b"0", b"\xff", b"9" * 3_000),
    b"x-method-override": (b"DELETE",),
}
# A few of them, now and then one twice; a content type more often than the rest, as most readers look at that first.
headers = st.lists(
    st.one_of(
        st.sampled_from([(name, value) for name, known in _HEADERS.items() for value in known]),
        st.tuples(st.sampled_from(sorted(_HEADERS)), values.map(_in_header)),
        st.tuples(st.just(b"content-type"), st.sampled_from(TYPES)),
        st.tuples(st.just(b"content-type"), st.sampled_from(TYPES)),
    ),
    max_size=5,
).map(tuple)

SOUND_AUTHORIZE = (
    (b"response_type", b"code"), (b"redirect_uri", REDIRECT.encode()), (b"code_challenge", CHALLENGE.encode()),
    (b"code_challenge_method", b"S256"), (b"scope", b"health:read"), (b"state", b"s"),
    (b"resource", f"{URL}/mcp".encode()),
)  # fmt: skip
SOUND_CODE = (
    (b"grant_type", b"authorization_code"), (b"redirect_uri", REDIRECT.encode()), (b"code_verifier", VERIFIER.encode()),
    (b"code", b"vco_" + b"x" * 43),
)  # fmt: skip
SOUND_METADATA: dict[str, object] = {
    "client_name": "An app",
    "redirect_uris": [REDIRECT],
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "scope": "health:read",
    "client_uri": "https://a.example/",
    "jwks": {"keys": []},
    "application_type": "native",
}
