"""What connectors were seen to get wrong, one line each, from the code to the answer; begun in `checklist`."""

from tests.requirement_tables.line import Line
from tests.requirement_tables.places import (
    ADVISORIES_MCP,
    AUTHENTICATION,
    BEARER,
    GUARD,
    ISSUING,
    MCP,
    NO_TRACE,
    OWNERS,
    REFRESH,
    REVOKE,
    TOKEN,
    TOKEN_REQUESTS,
    TRANSPORT,
)

_WRONG_CODE = TOKEN + "test_a_wrong_attempt_is_refused_and_does_not_spend_the_code"
_METHOD = AUTHENTICATION + "test_a_client_authenticates_by_the_method_it_registered"


def _line(part: str, what: str, *tests: str) -> Line:
    return Line(id=f"{part}: {what}", source=part, link="", says=what, tests=tests)


ISSUED = (
    _line("Token", "verifier wrong or missing", _WRONG_CODE),
    _line("Token", "another redirect is invalid_grant, and the code stays good", _WRONG_CODE),
    _line("Token", "a code that comes again ends the family", TOKEN + "test_a_code_that_comes_again_ends_what_it_made"),
    _line(
        "Token",
        "a code is its client's, and expires",
        TOKEN + "test_a_code_is_bound_to_its_client",
        TOKEN + "test_a_code_lives_sixty_seconds",
    ),
    _line("Token", "Basic with encoded ids, a wrong method, an unknown client", _METHOD, _WRONG_CODE),
    _line("Token", "a content type that is no form", TOKEN_REQUESTS + "test_a_body_that_is_no_form_is_a_json_error"),
    _line("Token", "one code redeemed at once", TOKEN + "test_of_many_redemptions_at_once_one_wins"),
    _line("Token", "no-store", ISSUING + "test_no_answer_that_carries_or_refuses_a_secret_is_kept_by_anyone"),
    _line("Token", "another resource is invalid_target", _WRONG_CODE),
    _line(
        "Token",
        "scope down, and up is invalid_scope",
        REFRESH + "test_the_scope_is_kept_or_narrowed",
        REFRESH + "test_a_wrong_attempt_is_refused_and_spends_nothing",
    ),
)

RENEWED = (
    _line("Refresh", "rotation", REFRESH + "test_a_refresh_gives_new_tokens_and_keeps_the_old_access_token_alive"),
    _line(
        "Refresh", "in parallel, all get through", REFRESH + "test_presentations_at_the_same_moment_get_the_same_answer"
    ),
    _line(
        "Refresh",
        "an old one after the window ends the family",
        REFRESH + "test_after_the_window_a_used_token_ends_the_family",
    ),
    _line("Refresh", "another client's", REFRESH + "test_another_client_is_refused_and_nothing_is_revoked"),
    _line("Refresh", "ended by the owner: invalid_grant", REFRESH + "test_what_the_owner_ended_cannot_be_refreshed"),
    Line(
        id="Refresh: revoked upstream: invalid_grant",
        source="Refresh",
        link="",
        says="the sign-in at the source has ended: invalid_grant",
        tests=(
            "tests/cases/test_a.py::"
            "test_a5_an_app_keeps_its_own_tokens_when_the_sign_in_ended_and_is_told_where_to_sign_in",
        ),
        gap="One sign-in at Oura serves all apps of an owner. An app whose grant ended with it could not ask any more, "
        "so could not be told why, and each would have to be connected anew; so tools say it, and name the page.",
    ),
    _line(
        "Refresh",
        "scope is kept; lifetimes",
        REFRESH + "test_the_scope_is_kept_or_narrowed",
        REFRESH + "test_thirty_days_slide",
        REFRESH + "test_the_advertised_life_is_the_real_one",
    ),
    _line("Revoke", "one's own only", REVOKE + "test_an_app_can_revoke_only_its_own"),
    _line("Revoke", "an unknown token is 200", REVOKE + "test_an_unknown_token_is_revoked_already"),
    _line(
        "Revoke",
        "an access token alone, a refresh token with all",
        REVOKE + "test_revoking_an_access_token_ends_that_one_alone",
        REVOKE + "test_revoking_a_refresh_token_ends_the_whole_grant",
    ),
)

SERVED = (
    _line(
        "Resource",
        "403 names what is held and what is needed",
        BEARER + "test_a_missing_scope_is_403_and_names_what_is_held_and_what_is_needed",
    ),
    _line(
        "Resource",
        "Origin and Host",
        GUARD + "test_a_page_of_another_origin_may_not_call",
        GUARD + "test_another_host_is_misdirected_everywhere",
    ),
    _line("Resource", "a limit to bodies", GUARD + "test_a_body_up_to_the_limit_is_read_and_one_byte_more_is_413"),
    _line(
        "Resource",
        "people at once do not cross",
        ADVISORIES_MCP + "test_cve_2026_25536_ghsa_345p_7cg4_v4c7_fifty_at_once_with_one_id_get_each_their_own",
        OWNERS + "test_of_two_owners_each_gets_their_own_data_and_sees_their_own_apps",
    ),
    _line(
        "Resource",
        "headers of 2026-07-28",
        TRANSPORT + "test_a_header_that_says_other_than_the_message_is_refused_by_its_number",
    ),
    _line(
        "Resource",
        "server/discover without headers falls back",
        MCP + "test_discover_without_headers_gets_the_error_that_makes_a_client_fall_back",
    ),
    _line(
        "Resource",
        "no token, code, _meta or reading in a log",
        NO_TRACE + "test_a_reading_is_in_the_answer_and_in_no_file_no_log_and_no_store",
        MCP + "test_a_malformed_message_is_answered_and_not_in_the_log",
    ),
    _line(
        "Clients",
        "the Python SDK's clients of both eras",
        "tests/journey/test_real_clients.py::test_the_client_of_today_signs_in_and_gets_an_answer_with_progress",
        "tests/journey/test_real_clients.py::test_the_client_of_last_year_signs_in_and_gets_an_answer_with_progress",
    ),
    _line(
        "Clients",
        "the TypeScript SDK's client",
        "tests/journey/test_real_clients.py::test_the_client_in_typescript_signs_in_refreshes_and_gets_an_answer_with_progress",
    ),
    _line(
        "Clients",
        "conformance",
        "tests/conformance/test_conformance.py::test_every_scenario_passes_but_for_what_is_named_here",
    ),
    _line(
        "Clients",
        "mcp-authlab, grade A",
        "tests/conformance/test_authlab.py::test_the_scan_gives_the_best_grade_and_every_check_that_can_run_passes",
    ),
    _line(
        "Clients",
        "what real clients ask first",
        "tests/journey/test_probe.py::test_every_first_request_of_real_clients_is_answered_as_they_need_it",
    ),
)

SCOPES = (
    Line(
        id="Resource: scope hierarchy",
        source="Resource",
        link="",
        says="a broad scope includes its narrow ones",
        not_ours="There is one scope that grants anything, so none lies within another.",
    ),
)

LINES = (*ISSUED, *RENEWED, *SERVED, *SCOPES)
