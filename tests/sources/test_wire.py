"""Every answer of Oura is a page, or an error that says what to do; never data made of something else."""

from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from app.errors import (
    BadRequest,
    MembershipRequired,
    NotPermitted,
    SourceBusy,
    SourceChanged,
    TokenRefused,
    VitalsError,
)
from app.sources.base import DateRange
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.wire import parse_page, printable, query, question
from app.sources.windows import windows

HTML = b"<!DOCTYPE html><html><body>just a moment</body></html>"
SCOPE = b'{"detail":"Token is not authorized access spo2 scope."}'
WEB = {"content-type": "text/html; charset=UTF-8"}


def test_a_page_keeps_records_as_sent_and_its_cursor() -> None:
    body = b'{"data":[{"id":"a","score":61.5,"new_field":{"x":[null,1]}},{"id":"b","score":null}],"next_token":"n2"}'

    page = parse_page(200, {"content-type": "application/json"}, body)

    assert page.records == ({"id": "a", "score": 61.5, "new_field": {"x": [None, 1]}}, {"id": "b", "score": None})
    assert page.next_token == "n2"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"data":[],"next_token":null}', id="null"),
        pytest.param(b'{"data":[],"next_token":""}', id="empty"),
        pytest.param(b'{"data":[]}', id="absent, as samples may have it"),
    ],
)
def test_the_last_page_has_no_cursor(body: bytes) -> None:
    assert parse_page(200, {}, body).next_token is None


def test_a_bare_object_is_one_record_where_that_is_documented() -> None:
    body = b'{"id":"u1","age":40,"email":null}'

    assert parse_page(200, {}, body, bare_record=True).records == ({"id": "u1", "age": 40, "email": None},)
    with pytest.raises(SourceChanged):
        parse_page(200, {}, body)


@pytest.mark.parametrize(
    ("status", "headers", "body", "error", "says"),
    [
        pytest.param(401, {}, b'{"detail":"Invalid token."}', TokenRefused, "access token", id="expired"),
        pytest.param(401, {}, b"", TokenRefused, "access token", id="401 without a body"),
        pytest.param(401, {}, SCOPE, NotPermitted, "`spo2`", id="scope in a 401"),
        pytest.param(403, {}, SCOPE, NotPermitted, "`spo2`", id="scope in a 403"),
        pytest.param(
            401,
            {},
            b'{"status":401,"title":"Unauthorized","detail":"Token is not authorized access extapi:spo2Daily scope."}',
            NotPermitted,
            "`spo2`",
            id="scope by its other names",
        ),
        pytest.param(403, {}, b'{"detail":"Forbidden"}', MembershipRequired, "membership", id="membership"),
        pytest.param(400, {}, b'{"detail":"Start date is greater than end date"}', BadRequest, "Start date", id="400"),
        pytest.param(404, {}, b'{"detail":"Not Found"}', BadRequest, "Not Found", id="404"),
        pytest.param(
            422,
            {},
            b'{"detail":[{"loc":["query","start_date"],"msg":"invalid date","type":"x","input":"31"}]}',
            BadRequest,
            "start_date: invalid date",
            id="422 names field and message",
        ),
        pytest.param(422, {}, b"[]", SourceChanged, "422", id="422 without a reason"),
        pytest.param(426, {}, b'{"detail":"Minimum App Version Error"}', BadRequest, "Update the app", id="426"),
        pytest.param(429, {"retry-after": "7"}, b"", SourceBusy, "in 7 s", id="429"),
        pytest.param(429, {"retry-after": "soon"}, b"", SourceBusy, "few minutes", id="429 without a number"),
        pytest.param(500, {}, b"{}", SourceBusy, "500", id="500"),
        pytest.param(502, WEB, HTML, SourceBusy, "web page", id="502 from the edge"),
        pytest.param(200, WEB, HTML, SourceChanged, "Upstream error", id="HTML under 200"),
        pytest.param(
            200, {"content-type": "application/json"}, HTML, SourceChanged, "Upstream error", id="HTML as JSON"
        ),
        pytest.param(401, WEB, HTML, SourceChanged, "Upstream error", id="HTML under 401 spends no refresh"),
        pytest.param(403, WEB, HTML, SourceChanged, "Upstream error", id="HTML under 403 is no membership"),
        pytest.param(200, {}, b'{"error":"boom","data":[{"id":"x"}]}', SourceChanged, "inside", id="error beside data"),
        pytest.param(200, {}, b'{"detail":"Internal"}', SourceChanged, "Internal", id="detail under 200"),
        pytest.param(200, {}, b'{"status":500}', SourceChanged, "`data`", id="no data"),
        pytest.param(200, {}, b'{"data":{"id":"x"},"next_token":null}', SourceChanged, "`data`", id="data is no list"),
        pytest.param(200, {}, b'{"data":[1],"next_token":null}', SourceChanged, "`data`", id="records are no objects"),
        pytest.param(200, {}, b'{"data":[],"next_token":5}', SourceChanged, "next_token", id="cursor is no text"),
        pytest.param(200, {}, b"[1]", SourceChanged, "JSON", id="a list"),
        pytest.param(200, {}, b"", SourceChanged, "JSON", id="nothing"),
        pytest.param(200, {}, b'{"data":[', SourceChanged, "JSON", id="cut off"),
        pytest.param(200, {}, b"[" * 100_000, SourceChanged, "JSON", id="deep"),
        pytest.param(302, {"location": "https://elsewhere.example"}, b"", SourceChanged, "302", id="a redirect"),
        pytest.param(204, {}, b"", SourceChanged, "204", id="no content"),
        pytest.param(418, {}, b"{}", SourceChanged, "418", id="undocumented"),
    ],
)
def test_anything_else_is_an_error_that_says_so(
    status: int, headers: dict[str, str], body: bytes, error: type[VitalsError], says: str
) -> None:
    with pytest.raises(error, match=says):
        parse_page(status, headers, body, bare_record=True)


def test_a_missing_scope_is_named_and_not_called_an_expired_token() -> None:
    with pytest.raises(NotPermitted) as caught:
        parse_page(401, {}, SCOPE)

    assert caught.value.scope == "spo2"
    assert "with that scope ticked" in str(caught.value)


def test_an_error_text_repeats_neither_readings_nor_control_characters_nor_much() -> None:
    said = b'{"loc":["query"],"msg":"bad\\u001b[31m\\r\\nIgnore\\u202e","input":{"bpm":61}}'
    body = b'{"detail":[' + said + b'],"data":[{"bpm":62}]}'

    with pytest.raises(BadRequest) as caught:
        parse_page(400, {}, body)

    text = str(caught.value)
    assert text.isprintable()
    assert "61" not in text
    assert "62" not in text
    assert len(printable("x" * 10_000)) <= 300


def test_a_wait_beyond_reason_is_bounded_and_an_absurd_one_ignored() -> None:
    for named, expected in (("99999999", 86_400.0), ("9" * 400, None), ("-1", None), ("٣", None)):
        with pytest.raises(SourceBusy) as caught:
            parse_page(429, {"retry-after": named}, b"")
        assert caught.value.retry_after_s == expected


def test_the_plus_of_an_offset_is_encoded_and_nothing_is_sent_as_none() -> None:
    heartrate = COLLECTIONS["heartrate"]
    (window,) = windows(heartrate, DateRange(date(2026, 3, 10), date(2026, 3, 10), ZoneInfo("Europe/Helsinki")))

    sent = query(question(heartrate, window, fields=(), latest=False), next_token="a+b/c=")

    assert sent == (
        "start_datetime=2026-03-10T00%3A00%3A00%2B02%3A00&end_datetime=2026-03-11T00%3A00%3A00%2B02%3A00"
        "&next_token=a%2Bb%2Fc%3D"
    )


def test_fields_are_asked_for_only_where_oura_can_leave_fields_out() -> None:
    fields = ("id", "day", "score")

    assert question(COLLECTIONS["daily_sleep"], None, fields=fields, latest=False) == {"fields": "id,day,score"}
    assert question(COLLECTIONS["daily_resilience"], None, fields=fields, latest=False) == {}
    assert question(COLLECTIONS["daily_sleep"], None, fields=fields, latest=False, sandbox=True) == {}


def test_latest_travels_as_a_lower_case_word() -> None:
    assert question(COLLECTIONS["heartrate"], None, fields=(), latest=True) == {"latest": "true"}
    assert question(replace(COLLECTIONS["heartrate"]), None, fields=(), latest=True, sandbox=True) == {}
