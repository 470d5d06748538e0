"""RFC 9700, Best Current Practice for OAuth 2.0 Security: demands on us as a server, and as a client of Oura."""

from tests.requirement_tables.line import Source
from tests.requirement_tables.places import (
    ADVISORIES,
    AUTHORIZE,
    BEARER,
    CALLBACK,
    CIMD,
    CONSENT,
    CONSENT_ATTACKS,
    DISCOVERY,
    GUARDS,
    ISSUING,
    REDIRECTS,
    REFRESH,
    REGISTRATION,
    TOKEN,
    TOKENS,
)

_ = Source("RFC 9700", "9700", "https://www.rfc-editor.org/rfc/rfc9700#section-{}")
_EXACT = REDIRECTS + "test_only_the_registered_address_is_ever_sent_to_also_with_an_error"
_PORTS = "tests/authserver/protocol/test_authorizations.py::test_the_port_is_free_on_loopback_and_nothing_else_anywhere"
_NO_LINK = AUTHORIZE + "test_nothing_leads_from_a_link_to_us_to_a_strangers_page"
_PKCE = ADVISORIES + "test_cve_2025_4144_pkce_cannot_be_left_out_at_either_end"

LINES = (
    _.shown("2.1", "exact", "redirect URIs match as strings, but for the port on loopback", _EXACT, _PORTS),
    _.shown(
        "2.1", "open-redirector", "no address of ours forwards a browser to an address of someone's choice", _NO_LINK
    ),
    _.shown(
        "2.1",
        "csrf",
        "as Oura's client: an answer that the browser did not ask for is refused",
        CALLBACK + "test_another_browser_cannot_finish_and_what_it_shows_is_of_no_use_to_who_began",
    ),
    _.not_ours(
        "2.1",
        "mix-up",
        "as a client of several servers: a defence against mix-up",
        "As a client we know one server, Oura. To apps we send iss (RFC 9207).",
    ),
    _.shown(
        "2.1",
        "credentials",
        "no redirect carries a form along",
        GUARDS + "test_only_a_page_with_a_form_tells_our_own_site_where_one_comes_from_and_nobody_else",
    ),
    _.shown(
        "2.1.1",
        "client-injection",
        "as Oura's client: PKCE or a nonce against injected codes",
        "tests/attacks/test_consent.py::test_a_code_of_one_sign_in_at_oura_is_no_good_in_another",
    ),
    _.shown(
        "2.1.1",
        "pkce",
        "PKCE is served, and a challenge means a verifier",
        _PKCE,
        TOKEN + "test_a_wrong_attempt_is_refused_and_does_not_spend_the_code",
    ),
    _.shown("2.1.1", "downgrade", "no verifier without a challenge: no request passes without one", _PKCE),
    _.shown(
        "2.1.1",
        "detectable",
        "metadata says that PKCE is served",
        DISCOVERY + "test_the_server_metadata_says_what_clients_decide_by",
    ),
    _.shown(
        "2.2.2",
        "rotation",
        "refresh tokens of public clients rotate",
        REFRESH + "test_after_the_window_a_used_token_ends_the_family",
    ),
    _.shown(
        "2.3",
        "audience",
        "a token for another resource is refused",
        TOKENS + "test_a_token_for_one_address_is_no_good_at_another_on_the_same_store",
    ),
    _.shown("2.4", "password", "no password grant", ISSUING + "test_no_other_grant_is_served"),
    _.shown(
        "2.6",
        "http",
        "no answer goes over http, but to loopback",
        REGISTRATION + "test_a_redirect_uri_that_could_leak_a_code_is_refused",
        ISSUING + "test_no_spelling_of_an_ipv6_address_passes_for_this_computer",
    ),
    _.not_ours("2.6", "messages", "in-browser messages are strictly addressed", "Answers go by redirect alone."),
    _.shown(
        "2.6",
        "cors",
        "no CORS at the authorization endpoint",
        AUTHORIZE + "test_no_script_of_another_site_may_read_the_consent_page",
        GUARDS + "test_no_script_of_another_site_may_read_anything_but_metadata",
    ),
    _.shown("4.1.3", "equal", "redirect URIs are equal, character by character", _EXACT),
    _.shown(
        "4.1.3",
        "loopback-port",
        "native apps may use any port on loopback",
        _PORTS,
        CIMD + "test_a_portless_loopback_redirect_takes_any_port",
    ),
    _.shown(
        "4.2.4",
        "once",
        "codes are invalid after their first use",
        TOKEN + "test_a_code_that_comes_again_ends_what_it_made",
    ),
    _.gap(
        "4.2.4",
        "referrer",
        "no address of ours leaks by the Referer header",
        "Pages say same-origin, not no-referrer: under that a browser sends `Origin: null` with our own form too. "
        "Other sites get no Referer either way, and pages load nothing from elsewhere.",
        GUARDS + "test_only_a_page_with_a_form_tells_our_own_site_where_one_comes_from_and_nobody_else",
        GUARDS + "test_no_page_runs_or_loads_anything_but_our_own_files",
    ),
    _.shown(
        "4.3.2",
        "address",
        "no token is taken from an address",
        BEARER + "test_a_token_in_the_address_is_never_accepted",
        "tests/cases/test_c.py::test_c18_no_route_takes_a_secret_in_its_address",
    ),
    _.shown(
        "4.7.1",
        "detectable",
        "PKCE can be relied on against forged requests, because it is announced",
        DISCOVERY + "test_the_server_metadata_says_what_clients_decide_by",
    ),
    _.shown("4.8.2", "bound", "the challenge is bound to the code", _PKCE),
    _.shown(
        "4.9.3",
        "plain",
        "the resource treats access tokens as secrets and stores none",
        TOKEN + "test_neither_the_store_nor_the_log_holds_a_token_a_code_or_a_secret",
        "tests/system/test_no_trace.py::test_a_reading_is_in_the_answer_and_in_no_file_no_log_and_no_store",
    ),
    _.shown(
        "4.11.1",
        "client",
        "as Oura's client: no open redirector",
        REDIRECTS + "test_this_server_itself_is_no_apps_redirect_and_a_code_of_ours_does_nothing_there",
        CALLBACK + "test_an_unknown_state_is_400_without_an_exchange_and_the_process_lives",
    ),
    _.shown(
        "4.11.2",
        "invalid",
        "no redirect for an invalid client or redirect URI",
        AUTHORIZE + "test_until_app_and_address_are_proven_there_is_a_page_and_no_way_on",
    ),
    _.gap(
        "4.11.2",
        "authenticated",
        "the owner is authenticated before any redirect",
        "Before a code, always. An error before that reaches by itself only this computer and well-known apps; "
        "others stand as a link on a page. After a no on the consent page, which names the host, the app is told "
        "without a sign-in at Oura.",
        _NO_LINK,
        AUTHORIZE + "test_no_address_that_only_resembles_theirs_is",
        CONSENT + "test_no_goes_back_with_access_denied_state_and_iss",
    ),
    _.shown(
        "4.12",
        "307",
        "no 307: what follows a form is a GET",
        CONSENT + "test_yes_stores_one_sign_in_and_goes_to_oura_with_its_state",
        CONSENT + "test_no_goes_back_with_access_denied_state_and_iss",
    ),
    _.shown(
        "4.13",
        "proxy",
        "a proxy takes out what it must say itself",
        "tests/packaging/test_caddy.py::test_the_host_arrives_as_sent_and_a_forged_forwarded_header_does_not",
        "tests/cases/test_s.py::test_s3_behind_a_proxy_the_public_name_is_answered_and_no_other_whatever_is_forwarded",
    ),
    _.gap(
        "4.13",
        "behind",
        "the way from the proxy to us is protected",
        "Plain http, on loopback or inside the compose network: whoever listens there has the machine already "
        "(deploy/THREATS.md).",
    ),
    _.shown(
        "4.14.2",
        "whether",
        "refresh tokens are given after weighing the risk: to every grant, for 30 days of use",
        REFRESH + "test_thirty_days_slide",
        "tests/attacks/test_leaving.py::test_an_ended_app_is_out_with_every_token_it_ever_held",
    ),
    _.shown(
        "4.14.2",
        "bound",
        "a refresh token keeps scope and resource",
        REFRESH + "test_the_binding_to_owner_resource_and_client_survives_ten_refreshes",
    ),
    _.gap(
        "4.14.2",
        "replay",
        "a refresh token that is used again is noticed",
        "After the window or once its successor was used: the family ends. Within 120 s the same token gets the "
        "same answer, because hosts refresh from several machines at once; a thief in that time shares the family "
        "until the app's next refresh ends it.",
        REFRESH + "test_after_the_window_a_used_token_ends_the_family",
        REFRESH + "test_using_the_successor_closes_the_window",
    ),
    _.not_ours(
        "4.14.2", "encoded", "a grant encoded in a token is protected", "Tokens are random; nothing is encoded in them."
    ),
    _.not_ours(
        "4.15.1", "namespace", "client ids are not mistaken for people", "Tokens carry neither; who asks is looked up."
    ),
    _.shown(
        "4.16",
        "clickjacking",
        "no page can be framed",
        CONSENT_ATTACKS + "test_no_page_can_be_framed",
        "tests/signin/test_browser.py::test_another_site_cannot_frame_the_consent_page",
    ),
    _.not_ours("4.17", "messages", "in-browser messages name exact origins", "Answers go by redirect alone."),
)
