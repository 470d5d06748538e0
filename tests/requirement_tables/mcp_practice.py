"""MCP's security best practices for a server that signs in elsewhere, and its transport, revision 2026-07-28."""

from tests.requirement_tables.line import Source
from tests.requirement_tables.places import (
    ADVISORIES,
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    CONSENT_ATTACKS,
    GUARD,
    GUARDS,
    ISSUING,
    LEAVING,
    MCP,
    REDIRECTS,
    TOKENS,
    TRANSPORT,
    WIRE,
)

_AT = "https://modelcontextprotocol.io/specification"
_WAY = Source("MCP 2026-07-28, Transports", "MCP-2026-07-28", _AT + "/2026-07-28/basic/transports/streamable-http{}")
_BEST = Source(
    "MCP security best practices",
    "MCP-best",
    "https://modelcontextprotocol.io/docs/2026-07-28/tutorials/security/security_best_practices{}",
)
_EXACT = REDIRECTS + "test_only_the_registered_address_is_ever_sent_to_also_with_an_error"
_SHOWS = CONSENT + "test_the_page_names_the_app_the_host_of_the_result_and_that_nobody_vouches_for_the_name"
_OWN_YES = ADVISORIES + "test_ghsa_c2jp_c369_7pvx_a_new_app_is_never_taken_to_oura_without_a_yes_of_its_own"

BEST_PRACTICES = (
    _BEST.gap(
        "#required-protections",
        "registry",
        "approved clients are kept per owner and looked up before going on",
        "Stricter: the page is shown each time, so there is no remembered yes that anybody could use. What was "
        "approved is kept as grants, and listed at /connections.",
        _OWN_YES,
        ADVISORIES + "test_ghsa_6x8h_498w_gv8c_no_yes_is_remembered_whatever_asks_again",
    ),
    _BEST.shown(
        "#required-protections",
        "stored",
        "what was decided is stored at the server",
        CONSENT + "test_yes_stores_one_sign_in_and_goes_to_oura_with_its_state",
    ),
    _BEST.shown("#required-protections", "page-name", "the page names the client", _SHOWS),
    _BEST.shown(
        "#required-protections",
        "page-scopes",
        "the page shows what is asked of Oura, in Oura's names",
        AUTHORIZE + "test_the_page_names_what_is_asked_of_oura_and_nothing_else",
    ),
    _BEST.shown(
        "#required-protections",
        "page-redirect",
        "the page shows where the result goes",
        "tests/cases/test_p.py::test_p5_the_page_says_where_the_result_goes_for_each_kind_of_app",
    ),
    _BEST.shown(
        "#required-protections",
        "page-csrf",
        "the page cannot be answered from elsewhere",
        CONSENT_ATTACKS + "test_a_foreign_page_cannot_press_the_button_even_with_a_genuine_form",
        ADVISORIES + "test_pr_3519_a_pair_of_cookie_and_form_that_an_attacker_made_up_or_planted_is_worth_nothing",
    ),
    _BEST.shown(
        "#required-protections",
        "page-frame",
        "the page cannot be framed",
        CONSENT_ATTACKS + "test_no_page_can_be_framed",
    ),
    _BEST.shown(
        "#required-protections",
        "cookie",
        "cookies are __Host-, Secure, HttpOnly, SameSite=Lax",
        GUARDS + "test_every_cookie_is_ours_alone_and_no_script_reads_it",
    ),
    _BEST.not_ours(
        "#required-protections",
        "cookie-client",
        "a consent cookie is signed and bound to one client",
        "No cookie says that anything was agreed to; the form's token covers the whole request.",
    ),
    _BEST.shown(
        "#required-protections",
        "redirect",
        "redirect URIs match exactly, without patterns",
        _EXACT,
        CONSENT + "test_a_request_changed_after_it_was_shown_is_refused",
    ),
    _BEST.shown(
        "#required-protections",
        "state-random",
        "state at the source is random for each sign-in",
        ISSUING + "test_what_opens_something_is_256_random_bits_and_never_the_same",
    ),
    _BEST.shown(
        "#required-protections",
        "state-after",
        "it is stored only after a yes",
        CONSENT + "test_looking_any_number_of_times_stores_nothing_and_keeps_the_cookie",
        CONSENT + "test_yes_stores_one_sign_in_and_goes_to_oura_with_its_state",
    ),
    _BEST.shown(
        "#required-protections",
        "state-matched",
        "it counts only in the browser that said yes",
        ADVISORIES + "test_cve_2026_27124_ghsa_rww4_4w9c_7733_only_the_browser_that_said_yes_finishes",
    ),
    _BEST.shown(
        "#required-protections",
        "state-unknown",
        "without a known state nothing happens",
        CALLBACK + "test_an_unknown_state_is_400_without_an_exchange_and_the_process_lives",
    ),
    _BEST.shown(
        "#required-protections",
        "state-once",
        "it is used once, within ten minutes",
        CALLBACK + "test_two_visits_at_once_exchange_once",
        CALLBACK + "test_a_state_older_than_ten_minutes_is_unknown",
    ),
    _BEST.shown(
        "#token-passthrough",
        "own",
        "only tokens issued for this server are accepted",
        TOKENS + "test_each_kind_of_secret_opens_only_its_own_door",
    ),
    _BEST.shown(
        "#state-handle-hijacking",
        "verified",
        "every request is verified; no handle stands for a sign-in",
        MCP + "test_an_unknown_session_is_no_session_and_no_session_is_given",
        LEAVING + "test_a_stolen_session_cookie_opens_no_page_in_another_browser",
    ),
)

TRANSPORTS = (
    _WAY.shown(
        "#security-&-endpoint",
        "origin",
        "a foreign Origin gets 403",
        GUARD + "test_a_page_of_another_origin_may_not_call",
    ),
    _WAY.shown(
        "#sending-messages",
        "notification",
        "a notification is taken with 202",
        TRANSPORT + "test_a_notification_is_taken_with_202_and_nothing_else",
    ),
    _WAY.shown(
        "#sending-messages",
        "json-or-stream",
        "a request is answered as JSON or as a stream",
        MCP + "test_progress_comes_as_a_stream_unless_the_client_reads_json_alone",
    ),
    _WAY.shown(
        "#protocol-version-header",
        "numbers",
        "unknown versions, unknown methods and headers that disagree with the message are refused by their numbers",
        TRANSPORT + "test_a_header_that_says_other_than_the_message_is_refused_by_its_number",
    ),
    _WAY.gap(
        "#protocol-version-header",
        "older-header",
        "a header of 2025-11-25 over a message of 2026-07-28 is refused",
        "Served as what the header says, by the SDK: in that era `_meta` of a later one means nothing. Nothing is "
        "gained by it.",
        MCP + "test_any_accept_is_answered",
    ),
    _WAY.shown(
        "#earlier-streamable-http-revisions",
        "post-only",
        "GET and DELETE get 405",
        TRANSPORT + "test_with_a_live_token_too_only_post_is_answered",
        WIRE + "test_methods_other_than_post_are_405_and_name_post",
    ),
    _WAY.not_ours(
        "#custom-headers-from-tool-parameters",
        "parameters",
        "Mcp-Param headers agree with the message",
        "No tool maps an argument to a header.",
    ),
)

LINES = (*BEST_PRACTICES, *TRANSPORTS)
