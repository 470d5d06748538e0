"""Every answer of the simulator against Oura's own document, and the list of where it departs on purpose."""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from app.simulator import COLLECTIONS, Simulator
from app.simulator.world import DENSE
from tests.simulator.conftest import Asker, Document

MIDDLE = "2026-03-02"  # samples are asked for 30 days at most
MONTHS = ("2026-02-01", "2026-04-01")  # +14:00, -04:00, both DST changes, a three-day gap
_LOCALIZED = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$"
_UTC = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$"
_STRICTER = {  # plain strings in the document; what its own names and texts say they are
    "ISODate": {"type": "string", "format": "date"},
    "LocalDateTime": {"type": "string", "pattern": _LOCALIZED},
    "LocalizedDateTime": {"type": "string", "pattern": _LOCALIZED},
    "UtcDateTime": {"type": "string", "pattern": _UTC},
}


@dataclass(frozen=True)
class Departure:
    """Where live answers were seen to break the document, so the simulator does too."""

    where: str  # collection, or sandbox/collection
    what: str
    explains: Callable[[ValidationError], bool]
    source: str


def _missing(name: str) -> Callable[[ValidationError], bool]:
    return lambda error: error.validator == "required" and name in error.message


def _null_at(*path: str) -> Callable[[ValidationError], bool]:
    return lambda error: [part for part in error.absolute_path if isinstance(part, str)][-len(path) :] == list(path)


DEPARTURES = (
    Departure("heartrate", "live rows lack timestamp_unix", _missing("timestamp_unix"), "FACTS.md quirk 17"),
    Departure("daily_spo2", "average may be null", _null_at("spo2_percentage"), "FACTS.md quirk 20"),
    Departure("sandbox/heartrate", "no timestamp_unix", _missing("timestamp_unix"), "FACTS.md section 3"),
    Departure("sandbox/ring_battery_level", "no timestamp_unix", _missing("timestamp_unix"), "FACTS.md section 3"),
)
EXTRA_FIELDS = {"heartrate": {"producer_timestamp"}}  # FACTS.md quirk 17; every row of the sandbox has it too
EXTRA_STATUSES = {("sandbox", 500): "FACTS.md section 3: an id of the sandbox's own breaks it"}


class Spec:
    """Oura's document, made strict: named string types checked, the free-form alternative not accepted."""

    def __init__(self, document: Document) -> None:
        self.document = copy.deepcopy(document)
        self.document["components"]["schemas"] |= _STRICTER
        self._checker = FormatChecker(formats=())
        self._checker.checks("date")(lambda value: bool(re.fullmatch(r"\d{4}-\d\d-\d\d", str(value))) and _day(value))

    def of(self, path: str, status: int = 200) -> Document:
        answer = self.document["paths"][path]["get"]["responses"][str(status)]
        schema: Document = answer["content"]["application/json"]["schema"]
        return schema["anyOf"][0] if "anyOf" in schema else schema

    def errors(self, schema: Document, value: object) -> list[ValidationError]:
        whole = schema | {"components": self.document["components"]}
        return list(Draft202012Validator(whole, format_checker=self._checker).iter_errors(value))

    def fields(self, path: str) -> set[str]:
        name = self.of(path)["$ref"].rsplit("/", 1)[1]
        schema = self.document["components"]["schemas"][name]
        if "data" in schema["properties"]:
            name = schema["properties"]["data"]["items"]["$ref"].rsplit("/", 1)[1]
            schema = self.document["components"]["schemas"][name]
        return set(schema["properties"])


def _day(value: Any) -> bool:
    date.fromisoformat(value)
    return True


@pytest.fixture(scope="module")
def spec(openapi: Document) -> Spec:
    return Spec(openapi)


def _unexplained(where: str, errors: list[ValidationError]) -> list[str]:
    reasons = [departure.explains for departure in DEPARTURES if departure.where == where]
    return [f"{error.json_path}: {error.message[:200]}" for error in errors if not any(why(error) for why in reasons)]


def _range(collection: str, start: str, end: str) -> dict[str, str]:
    if collection in DENSE:
        return {"start_datetime": f"{start}T00:00:00+00:00", "end_datetime": f"{end}T00:00:00+00:00"}
    return {"start_date": start, "end_date": end}


def _telling(records: list[Document]) -> list[Document]:
    """Leave out most rows of a long page, but keep one of each shape: validating 70,000 takes half a minute."""
    shapes = {(*sorted((name, type(value).__name__) for name, value in row.items()),): row for row in records}
    return records if len(records) < 400 else records[::10] + list(shapes.values())


@pytest.mark.parametrize("collection", [name for name in COLLECTIONS if name != "personal_info"])
async def test_every_page_of_two_odd_months_is_what_the_document_promises(
    collection: str, oura: Asker, spec: Spec
) -> None:
    path = f"/v2/usercollection/{collection}"
    halves = (MONTHS[0], MIDDLE), (MIDDLE, MONTHS[1])
    records = 0
    for half in halves:
        params = _range(collection, *half)
        for _ in range(100):
            body = (await oura.get(path, **params)).json()
            checked = body | {"data": _telling(body["data"])}

            assert _unexplained(collection, spec.errors(spec.of(path), checked)) == []
            extra = {name for row in body["data"] for name in row} - spec.fields(path)
            assert extra <= EXTRA_FIELDS.get(collection, set())
            records += len(body["data"])
            if body["next_token"] is None:
                break
            params = {"next_token": body["next_token"]}
    assert records > 0


@pytest.mark.parametrize("collection", [name for name in COLLECTIONS if name not in DENSE and name != "personal_info"])
async def test_a_single_document_is_the_one_of_the_list_and_what_the_document_promises(
    collection: str, oura: Asker, spec: Spec
) -> None:
    listed = (await oura.data(collection, **_range(collection, *MONTHS)))[0]

    single = (await oura.get(f"{collection}/{listed['id']}")).json()

    assert single == listed
    assert (
        _unexplained(collection, spec.errors(spec.of(f"/v2/usercollection/{collection}/{{document_id}}"), single)) == []
    )


@pytest.mark.parametrize("scopes", [(), ("personal",), ("email",), ("personal", "email")])
async def test_the_profile_is_what_the_document_promises_under_any_scopes(
    scopes: tuple[str, ...], oura: Asker, spec: Spec
) -> None:
    path = "/v2/usercollection/personal_info"

    body = (await oura.as_granted(*scopes).get(path)).json()

    assert spec.errors(spec.of(path), body) == []
    assert set(body) == spec.fields(path)


def test_the_document_has_no_collection_that_the_simulator_lacks(spec: Spec, sim: Simulator) -> None:
    paths = {route for route in spec.document["paths"] if "usercollection" in route}
    lists = {route.rsplit("/", 1)[1] for route in paths if "{" not in route and "sandbox" not in route}

    assert lists == set(COLLECTIONS)
    assert set(sim.data.scopes) == set(COLLECTIONS)
    for route in sim.data.routes():
        assert route.path.replace("{collection}", "sleep").replace("{ident}", "{document_id}") in paths


@pytest.mark.parametrize("collection", [name for name in COLLECTIONS if name != "personal_info"])
async def test_the_sandbox_is_what_the_document_promises(collection: str, oura: Asker, spec: Spec) -> None:
    path = f"/v2/sandbox/usercollection/{collection}"

    body = (await oura.get(path, **_range(collection, "2026-02-01", "2026-02-09"))).json()

    assert body["data"]
    assert _unexplained(f"sandbox/{collection}", spec.errors(spec.of(path), body)) == []
    assert {name for row in body["data"] for name in row} - spec.fields(path) == {"producer_timestamp"}


async def test_every_departure_is_met_so_that_the_table_stays_true(oura: Asker, spec: Spec) -> None:
    for departure in DEPARTURES:
        collection = departure.where.removeprefix("sandbox/")
        path = f"/v2/{'sandbox/' if departure.where != collection else ''}usercollection/{collection}"
        records, _ = await oura.all(path, **_range(collection, MONTHS[0], MIDDLE))
        errors = spec.errors(spec.of(path), {"data": _telling(records), "next_token": None})

        assert any(departure.explains(error) for error in errors), departure.what


async def test_refusals_have_a_documented_status_and_a_422_its_documented_body(oura: Asker, spec: Spec) -> None:
    path = "/v2/usercollection/sleep"
    single = "/v2/sandbox/usercollection/sleep/{document_id}"
    mine = (await oura.data("/v2/sandbox/usercollection/sleep", start_date="2026-02-01", end_date="2026-02-03"))[0][
        "id"
    ]

    bad_date = await oura.get(path, start_date="2026-02-30")
    reversed_range = await oura.get(path, start_date="2026-02-03", end_date="2026-02-01")
    no_scope = await oura.as_granted("email").get(path)
    sandbox = await oura.get(f"/v2/sandbox/usercollection/sleep/{mine}")

    statuses = [answer.status_code for answer in (bad_date, reversed_range, no_scope, sandbox)]
    assert statuses == [422, 400, 401, 500]
    assert spec.errors(spec.of(path, 422), bad_date.json()) == []
    assert {"422", "400", "401"} <= set(spec.document["paths"][path]["get"]["responses"])
    assert "500" not in spec.document["paths"][single]["get"]["responses"]
    assert ("sandbox", 500) in EXTRA_STATUSES
