"""What connectors in the field were seen to get wrong, one line each, up to the owner's yes; then `checklist_tokens`.

The list is the project's own, put together from specifications, advisories and reports of hosts.
"""

from tests.requirement_tables.line import Line
from tests.requirement_tables.places import (
    ADVISORIES,
    AUTHENTICATION,
    AUTHORIZE,
    BEARER,
    BROWSER,
    CALLBACK,
    CIMD,
    CIMD_FETCH,
    CONSENT,
    CONSENT_ATTACKS,
    DISCOVERY,
    FLOODS,
    GUARDS,
    ISSUING,
    JOURNEY,
    REDIRECTS,
    REGISTRATION,
    TOKENS,
)

_TOLD = AUTHORIZE + "test_after_that_the_app_is_told_with_its_state_and_our_name_once"
_SENT_BESIDE = AUTHORIZE + "test_whatever_apps_send_beside_leads_to_the_consent_page_each_time_it_is_opened"
_TAKEN = REGISTRATION + "test_what_real_apps_send_is_taken"
_REFUSED = REGISTRATION + "test_a_redirect_uri_that_could_leak_a_code_is_refused"
_NO_DOCUMENT = (
    "tests/attacks/test_fetching.py::test_an_answer_that_is_no_document_leads_nowhere_and_spoils_no_older_copy"
)
_METHOD = AUTHENTICATION + "test_a_client_authenticates_by_the_method_it_registered"
_ADDRESS = CIMD + "test_an_address_outside_the_rules_is_never_fetched"


def _line(part: str, what: str, *tests: str) -> Line:
    return Line(id=f"{part}: {what}", source=part, link="", says=what, tests=tests)


DISCOVERED = (
    _line(
        "Discovery",
        "resource metadata is the same at both addresses",
        DISCOVERY + "test_both_addresses_of_a_document_give_the_same_content",
    ),
    _line(
        "Discovery",
        "resource and issuer are exact",
        DISCOVERY + "test_the_resource_metadata_names_the_exact_resource_and_issuer",
        ISSUING + "test_metadata_names_nothing_empty_and_one_name_of_ours_everywhere",
    ),
    _line("Discovery", "JSON 404 elsewhere under /.well-known", DISCOVERY + "test_everything_else_there_is_a_json_404"),
    _line(
        "Discovery",
        "HEAD, Cache-Control and CORS on metadata",
        DISCOVERY + "test_a_document_is_cacheable_public_and_answers_head_like_get",
        DISCOVERY + "test_a_browser_may_ask_beforehand",
    ),
    _line(
        "Discovery",
        "the Host header is never reflected",
        DISCOVERY + "test_no_document_reflects_the_host_header",
        ADVISORIES + "test_cve_2025_6514_what_apps_open_is_named_by_our_settings_alone",
    ),
)

CHALLENGED = (
    _line(
        "401",
        "POST, GET, DELETE and server/discover",
        BEARER + "test_without_a_token_every_method_gets_401_and_the_bare_challenge",
        BEARER + "test_without_a_token_no_body_and_no_accept_changes_the_401",
    ),
    _line("401", "a bad token", BEARER + "test_a_bad_token_gets_401_that_says_so_and_does_not_repeat_it"),
    _line(
        "401",
        "an expired token",
        "tests/cases/test_s.py::test_s11_what_is_advertised_is_how_long_it_lives_to_the_second",
    ),
    _line("401", "a revoked token", JOURNEY + "test_an_app_goes_from_401_to_an_answer_and_gives_its_access_back"),
    _line("401", "another audience", TOKENS + "test_a_token_for_one_address_is_no_good_at_another_on_the_same_store"),
    _line(
        "401",
        "a token in the query",
        BEARER + "test_a_token_in_the_address_is_never_accepted",
        TOKENS + "test_a_live_token_in_the_wrong_place_or_twice_is_no_token",
    ),
    _line(
        "401",
        "the challenge can be read, and has its scope",
        "tests/attacks/test_transport_rules.py::test_the_challenge_reads_by_the_grammar_of_http",
    ),
    _line("401", "no token is echoed", BEARER + "test_a_bad_token_gets_401_that_says_so_and_does_not_repeat_it"),
)

REGISTERED = (
    _line(
        "Registration",
        "no method named: none, and said so",
        REGISTRATION + "test_an_app_that_names_no_method_becomes_public_and_is_told",
    ),
    _line(
        "Registration",
        "none, post and basic",
        REGISTRATION + "test_an_app_that_asks_for_a_secret_gets_its_own",
        _METHOD,
    ),
    _line(
        "Registration",
        "no nulls, whole numbers for times",
        REGISTRATION + "test_an_app_that_names_no_method_becomes_public_and_is_told",
        _TAKEN,
    ),
    _line("Registration", "no-store", ISSUING + "test_no_answer_that_carries_or_refuses_a_secret_is_kept_by_anyone"),
    _line("Registration", "Cursor's three redirects, names in brackets", _TAKEN),
    _line(
        "Registration",
        "20 redirects and no more",
        _TAKEN,
        REGISTRATION + "test_metadata_that_cannot_work_here_is_refused_with_the_reason",
    ),
    _line(
        "Registration",
        "bad schemes, fragment, user, wildcard, http off loopback, control characters",
        _REFUSED,
        REDIRECTS + "test_an_address_that_browsers_and_people_read_differently_is_not_registered",
    ),
    _line("Registration", "IPv6 tricks", ISSUING + "test_no_spelling_of_an_ipv6_address_passes_for_this_computer"),
    _line(
        "Registration", "names of 2,000 characters", ISSUING + "test_a_name_of_2000_characters_or_of_no_text_is_refused"
    ),
    _line(
        "Registration",
        "HTML in a name is text",
        CONSENT_ATTACKS + "test_a_name_can_neither_hide_nor_spill_over_nor_be_markup",
    ),
    _line(
        "Registration",
        "a limit to its number",
        FLOODS + "test_one_address_is_refused_after_its_allowance_and_heard_again_later",
        FLOODS + "test_a_flood_from_many_addresses_leaves_next_to_nothing_and_keeps_no_honest_one_out",
    ),
    _line("Registration", "unknown members and the jwt-bearer grant are ignored", _TAKEN),
)

DOCUMENTS = (
    _line(
        "Documents",
        "another id, http, no path, dot segments, fragment, user",
        _ADDRESS,
        CIMD + "test_a_document_that_describes_no_client_of_ours_is_refused_with_the_reason",
    ),
    _line(
        "Documents", "a port and a query are allowed", CIMD + "test_an_address_by_the_rules_is_fetched_as_it_was_sent"
    ),
    _line(
        "Documents",
        "redirects, 404, 500",
        CIMD_FETCH + "test_only_200_counts_and_redirects_are_not_followed",
        _NO_DOCUMENT,
    ),
    _line(
        "Documents",
        "6 kB, 1 MB, a slow body, a wrong content type",
        CIMD_FETCH + "test_more_than_five_kilobytes_are_not_read",
        CIMD_FETCH + "test_a_server_that_drips_is_given_up_after_the_whole_time",
        CIMD_FETCH + "test_only_json_counts",
        _NO_DOCUMENT,
    ),
    _line(
        "Documents",
        "names that lead inside, NAT64, mapped addresses",
        CIMD_FETCH + "test_a_name_that_leads_inside_is_not_called",
        "tests/attacks/test_fetching.py::test_no_spelling_of_an_inner_address_is_called",
    ),
    _line(
        "Documents",
        "rebinding between check and connection",
        CIMD_FETCH + "test_a_name_that_is_rebound_after_the_check_changes_nothing",
        CIMD_FETCH + "test_the_connection_goes_to_the_address_that_was_checked_under_the_name_that_was_asked",
    ),
    _line(
        "Documents",
        "no error is kept, an old copy serves",
        CIMD + "test_a_failed_fetch_is_not_remembered",
        CIMD + "test_an_older_copy_serves_while_the_fetch_fails_but_not_for_ever",
        _NO_DOCUMENT,
    ),
    _line(
        "Documents",
        "pinned copies",
        CIMD + "test_well_known_apps_connect_though_their_document_cannot_be_fetched",
        CIMD + "test_every_pinned_copy_is_one_of_the_documents_named_and_usable",
    ),
    _line("Documents", "ChatGPT's two members", CIMD + "test_the_two_methods_of_chatgpt_settle_on_none"),
    _line(
        "Documents",
        "a loopback redirect without a port takes any, host and path exact",
        CIMD + "test_a_portless_loopback_redirect_takes_any_port",
    ),
)

AUTHORIZED = (
    _line(
        "Authorize",
        "unknown client, unregistered redirect, no redirect before both are proven",
        AUTHORIZE + "test_until_app_and_address_are_proven_there_is_a_page_and_no_way_on",
    ),
    _line("Authorize", "after that, state and iss", _TOLD),
    _line("Authorize", "response_type; PKCE missing, plain, without a method, short", _TOLD),
    _line("Authorize", "resource missing, wrong, with a fragment, twice", _SENT_BESIDE, _TOLD),
    _line("Authorize", "repeated parameters", _TOLD, AUTHORIZE + "test_a_state_that_came_twice_comes_back_not_at_all"),
    _line("Authorize", "opened twice; prompt=consent", _SENT_BESIDE),
    _line("Authorize", "scope unknown, empty, wider than registered", _TOLD, _SENT_BESIDE),
    _line(
        "Redirects",
        "exact, the port free on localhost and 127.0.0.1, Cursor's scheme exact",
        REDIRECTS + "test_only_the_registered_address_is_ever_sent_to_also_with_an_error",
        "tests/authserver/protocol/test_authorizations.py::test_the_port_is_free_on_loopback_and_nothing_else_anywhere",
        REDIRECTS + "test_a_loopback_port_in_odd_digits_is_a_page_and_neither_a_fault_nor_a_way_out",
    ),
)

CONSENTED = (
    _line(
        "Consent",
        "client, host of the result and what is asked are named",
        CONSENT + "test_the_page_names_the_app_the_host_of_the_result_and_that_nobody_vouches_for_the_name",
        AUTHORIZE + "test_the_page_names_what_is_asked_of_oura_and_nothing_else",
    ),
    _line(
        "Consent",
        "a no is access_denied with state and iss",
        CONSENT + "test_no_goes_back_with_access_denied_state_and_iss",
    ),
    _line(
        "Consent",
        "a second browser",
        CONSENT + "test_a_yes_from_another_browser_is_refused",
        CALLBACK + "test_another_browser_cannot_finish_and_what_it_shows_is_of_no_use_to_who_began",
    ),
    _line(
        "Consent",
        "a second tab, the back button",
        CONSENT + "test_two_tabs_of_one_browser_are_both_good_and_so_is_the_back_button",
        BROWSER + "test_the_back_button_and_a_second_tab_leave_both_pages_good",
    ),
    _line("Consent", "expired", CONSENT + "test_a_page_older_than_ten_minutes_is_shown_again_instead_of_acted_on"),
    _line("Consent", "framed", BROWSER + "test_another_site_cannot_frame_the_consent_page"),
    _line(
        "Consent",
        "posted from another site",
        BROWSER + "test_another_site_cannot_post_a_yes_even_with_a_token_it_fetched_itself",
        CONSENT_ATTACKS + "test_a_foreign_page_cannot_press_the_button_even_with_a_genuine_form",
    ),
    _line(
        "Consent",
        "a changed redirect or scope asks again",
        CONSENT + "test_a_request_changed_after_it_was_shown_is_refused",
        CONSENT + "test_consent_is_asked_again_after_a_connection_whatever_changed",
    ),
    _line("Consent", "no form-action", "tests/cases/test_s.py::test_s5_no_page_names_where_a_form_may_lead"),
)

GUARDED = (
    _line(
        "Browser",
        "cookies __Host-, HttpOnly, Secure, SameSite=Lax; loopback excepted",
        GUARDS + "test_every_cookie_is_ours_alone_and_no_script_reads_it",
        GUARDS + "test_on_loopback_without_https_it_is_the_same_but_for_what_browsers_would_not_keep",
    ),
    _line(
        "Browser",
        "no inline script and nothing foreign",
        GUARDS + "test_no_page_runs_or_loads_anything_but_our_own_files",
    ),
    _line(
        "Browser",
        "Referrer-Policy no-referrer, on pages same-origin for their own forms",
        GUARDS + "test_only_a_page_with_a_form_tells_our_own_site_where_one_comes_from_and_nobody_else",
    ),
    _line(
        "Browser",
        "HSTS on https",
        GUARDS + "test_every_answer_is_unframeable_unsniffable_and_bound_to_https",
        "tests/shell/test_headers.py::test_plain_http_on_loopback_promises_no_https",
    ),
    _line(
        "Browser",
        "JSON cannot be sniffed",
        GUARDS + "test_json_is_called_json_and_a_page_is_called_a_page",
        GUARDS + "test_every_answer_is_unframeable_unsniffable_and_bound_to_https",
    ),
    _line(
        "Browser",
        "secrets are compared in constant time",
        GUARDS + "test_every_secret_that_is_compared_is_compared_in_constant_time",
    ),
    _line(
        "Browser", "error pages without details", GUARDS + "test_a_fault_gives_nothing_of_itself_away_at_any_address"
    ),
)

LINES = (*DISCOVERED, *CHALLENGED, *REGISTERED, *DOCUMENTS, *AUTHORIZED, *CONSENTED, *GUARDED)
