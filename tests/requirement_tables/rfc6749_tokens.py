"""RFC 6749, The OAuth 2.0 Authorization Framework, from section 4.1.2 on: codes, tokens, and its own warnings.

What OAuth 2.1 took out (the implicit and password grants) is not served, so its demands have one line together.
"""

from tests.requirement_tables.line import Source
from tests.requirement_tables.places import (
    ADVISORIES,
    AUTHENTICATION,
    AUTHORIZE,
    BEARER,
    CALLBACK,
    CONSENT_ATTACKS,
    GUARDS,
    ISSUING,
    MALFORMED,
    NO_TRACE,
    OURA,
    REDIRECTS,
    REFRESH,
    REGISTRATION,
    REVOKE,
    SETTINGS,
    TOKEN,
    TOKEN_REQUESTS,
    TOKENS,
)

_ = Source("RFC 6749", "6749", "https://www.rfc-editor.org/rfc/rfc6749#section-{}")
_TLS_REFUSED = SETTINGS + "test_a_malformed_setting_stops_the_start_with_its_name_and_an_example"
_NO_STORE = ISSUING + "test_no_answer_that_carries_or_refuses_a_secret_is_kept_by_anyone"
_UNTOLD = AUTHORIZE + "test_until_app_and_address_are_proven_there_is_a_page_and_no_way_on"
_TOLD = AUTHORIZE + "test_after_that_the_app_is_told_with_its_state_and_our_name_once"
_WORDS = ISSUING + "test_the_words_of_every_error_are_of_the_characters_that_oauth_allows"
_RANDOM = ISSUING + "test_what_opens_something_is_256_random_bits_and_never_the_same"
_BY_METHOD = AUTHENTICATION + "test_a_client_authenticates_by_the_method_it_registered"
_WRONG_CODE = TOKEN + "test_a_wrong_attempt_is_refused_and_does_not_spend_the_code"


LINES = (
    _.shown("4.1.2", "short", "a code ends soon", TOKEN + "test_a_code_lives_sixty_seconds"),
    _.shown(
        "4.1.2",
        "once",
        "a code used twice is refused, and what it gave is taken back",
        TOKEN + "test_a_code_that_comes_again_ends_what_it_made",
        TOKENS + "test_twenty_redemptions_of_a_code_at_once_give_tokens_once",
    ),
    _.shown(
        "4.1.2",
        "bound",
        "a code is bound to client and redirect URI",
        TOKEN + "test_a_code_is_bound_to_its_client",
        _WRONG_CODE,
    ),
    _.shown(
        "4.1.2",
        "state",
        "state comes back exactly",
        "tests/signin/test_consent_texts.py::test_a_state_with_markup_travels_through_consent_unchanged",
    ),
    _.shown("4.1.2.1", "page", "a bad client or redirect URI is shown to the person and sent nowhere", _UNTOLD),
    _.gap(
        "4.1.2.1",
        "told",
        "any other error is sent to the redirect URI",
        "Sent by itself only to this computer and to well-known apps. For an address that any stranger could have "
        "registered, a page says what is wrong and the person decides whether to go back (RFC 9700, 4.11.2).",
        _TOLD,
        AUTHORIZE + "test_nothing_leads_from_a_link_to_us_to_a_strangers_page",
        AUTHORIZE + "test_apps_on_this_computer_and_well_known_ones_are_told_at_once",
    ),
    _.shown(
        "4.1.2.1",
        "characters",
        "error texts stay within plain ASCII",
        _TOLD,
        ISSUING + "test_who_refuses_or_fails_at_oura_is_told_in_those_characters_too",
    ),
    _.shown("4.1.2.1", "state", "errors carry the state", _TOLD),
    _.shown("4.1.3", "authenticate", "clients with credentials authenticate to redeem a code", _BY_METHOD),
    _.shown(
        "4.1.3",
        "client",
        "a code is redeemed by its own client alone",
        TOKENS + "test_another_app_can_do_nothing_with_a_stolen_code_or_refresh_token",
    ),
    _.shown(
        "4.1.3",
        "valid",
        "a code is checked to be live",
        TOKEN + "test_an_expired_code_is_refused_even_if_the_store_still_has_it",
    ),
    _.shown("4.1.3", "redirect", "the redirect URI is repeated, identical", _WRONG_CODE),
    _.not_ours("4.2", "implicit", "demands on the implicit grant", "Not served: response_type=token is refused."),
    _.not_ours("4.3", "password", "demands on the password grant", "Not served: grant_type=password is refused."),
    _.not_ours(
        "4.4",
        "client-credentials",
        "demands on the client credentials grant",
        "Not served: nobody gets in without an owner.",
    ),
    _.shown("4.5", "others", "a grant that is not known is refused", ISSUING + "test_no_other_grant_is_served"),
    _.shown(
        "5.1", "members", "a token answer says token and type", TOKEN + "test_a_code_buys_tokens_that_open_the_resource"
    ),
    _.shown("5.1", "no-store", "no cache keeps a token answer", _NO_STORE),
    _.shown("5.2", "characters", "error texts stay within plain ASCII", _WORDS),
    _.shown(
        "5.2",
        "401",
        "a client that failed by the Authorization header gets 401 and the scheme",
        ISSUING + "test_who_authenticates_by_the_header_is_answered_by_the_scheme_of_the_header",
    ),
    _.shown(
        "6",
        "authenticate",
        "clients with credentials authenticate to refresh",
        "tests/cases/test_s.py::test_s13_a_public_app_is_given_no_secret_and_a_confidential_one_its_own",
        TOKEN + "test_neither_the_store_nor_the_log_holds_a_token_a_code_or_a_secret",
    ),
    _.shown(
        "6",
        "client",
        "a refresh token works for its own client alone",
        REFRESH + "test_another_client_is_refused_and_nothing_is_revoked",
    ),
    _.shown(
        "6",
        "valid",
        "a refresh token is checked to be live",
        REFRESH + "test_a_wrong_attempt_is_refused_and_spends_nothing",
        REFRESH + "test_thirty_days_slide",
    ),
    _.shown(
        "6", "scope", "no more scope than was granted", REFRESH + "test_a_wrong_attempt_is_refused_and_spends_nothing"
    ),
    _.shown(
        "6",
        "same-scope",
        "the new refresh token has the scope of the old one",
        REFRESH + "test_the_binding_to_owner_resource_and_client_survives_ten_refreshes",
    ),
    _.shown(
        "7",
        "validated",
        "the resource checks life and scope of each token",
        REVOKE + "test_an_expired_token_is_refused_even_if_the_store_still_has_it",
        BEARER + "test_a_missing_scope_is_403_and_names_what_is_held_and_what_is_needed",
    ),
    _.gap(
        "10.1",
        "native-secrets",
        "native and browser apps get no secret",
        "At registration nobody can tell what an app is. One that names no method becomes public; a secret is made "
        "only for one that asks for it, and it adds nothing to what PKCE and consent require.",
        REGISTRATION + "test_an_app_that_names_no_method_becomes_public_and_is_told",
    ),
    _.shown(
        "10.2",
        "authenticated",
        "clients are authenticated where they can be, and the others bound to their redirect URIs",
        _BY_METHOD,
        REDIRECTS + "test_only_the_registered_address_is_ever_sent_to_also_with_an_error",
    ),
    _.shown(
        "10.3",
        "confidential",
        "access tokens are secret on the way and at rest",
        NO_TRACE + "test_a_reading_is_in_the_answer_and_in_no_file_no_log_and_no_store",
        _TLS_REFUSED,
    ),
    _.shown(
        "10.3",
        "unguessable",
        "access tokens cannot be made up",
        _RANDOM,
        ADVISORIES + "test_cve_2026_27962_cve_2026_28802_a_token_that_vouches_for_itself_opens_nothing",
    ),
    _.shown(
        "10.4",
        "confidential",
        "refresh tokens are secret on the way and at rest",
        TOKEN + "test_neither_the_store_nor_the_log_holds_a_token_a_code_or_a_secret",
    ),
    _.shown(
        "10.4",
        "bound",
        "a refresh token stays bound to its client",
        TOKENS + "test_another_app_can_do_nothing_with_a_stolen_code_or_refresh_token",
    ),
    _.shown("10.4", "unguessable", "refresh tokens cannot be made up", _RANDOM),
    _.shown(
        "10.5",
        "once",
        "codes are short-lived and used once",
        TOKEN + "test_a_code_lives_sixty_seconds",
        TOKEN + "test_of_many_redemptions_at_once_one_wins",
    ),
    _.shown("10.5", "client", "a code is checked to be its client's", TOKEN + "test_a_code_is_bound_to_its_client"),
    _.shown("10.6", "identical", "the redirect URI at redemption is the one of the request", _WRONG_CODE),
    _.shown(
        "10.8",
        "in-the-clear",
        "nothing secret goes in the clear",
        _TLS_REFUSED,
        "tests/shell/test_headers.py::test_plain_http_on_loopback_promises_no_https",
    ),
    _.shown(
        "10.9",
        "tls",
        "TLS with a server certificate",
        _TLS_REFUSED,
        "tests/packaging/test_caddy.py::test_a_domain_is_all_it_needs_for_https",
    ),
    _.shown("10.10", "guessing", "nothing issued can be guessed: 256 bits, where 128 are demanded", _RANDOM),
    _.not_ours(
        "10.10",
        "passwords",
        "credentials that people type are protected otherwise",
        "There are none: people sign in at Oura.",
    ),
    _.shown(
        "10.11",
        "tls",
        "every page that people use needs TLS",
        _TLS_REFUSED,
        GUARDS + "test_every_cookie_is_ours_alone_and_no_script_reads_it",
    ),
    _.shown(
        "10.12",
        "consent",
        "no page of another site can agree in the owner's name",
        CONSENT_ATTACKS + "test_a_foreign_page_cannot_press_the_button_even_with_a_genuine_form",
        "tests/signin/test_browser.py::test_another_site_cannot_post_a_yes_even_with_a_token_it_fetched_itself",
    ),
    _.shown(
        "10.12",
        "client",
        "as Oura's client: an answer counts only in the browser that asked",
        CALLBACK + "test_another_browser_cannot_finish_and_what_it_shows_is_of_no_use_to_who_began",
        ADVISORIES + "test_cve_2026_27124_ghsa_rww4_4w9c_7733_only_the_browser_that_said_yes_finishes",
    ),
    _.shown(
        "10.13",
        "framing",
        "no page can be framed",
        "tests/signin/test_browser.py::test_another_site_cannot_frame_the_consent_page",
        GUARDS + "test_every_answer_is_unframeable_unsniffable_and_bound_to_https",
    ),
    _.shown(
        "10.14",
        "sanitized",
        "whatever arrives is checked before it is used or shown",
        MALFORMED + "test_no_form_query_or_header_is_a_fault_of_ours",
        "tests/signin/test_consent_texts.py::test_markup_in_any_parameter_or_name_comes_back_escaped",
    ),
    _.shown(
        "10.15",
        "open-redirector",
        "the authorization endpoint sends nobody to an address of someone's choice",
        AUTHORIZE + "test_nothing_leads_from_a_link_to_us_to_a_strangers_page",
    ),
    _.shown(
        "4.1.2",
        "client-once",
        "as Oura's client: a code is used once",
        CALLBACK + "test_two_visits_at_once_exchange_once",
        OURA + "test_a_code_is_not_sent_again_after_anything_but_400_and_401",
    ),
    _.shown(
        "6",
        "client-discards",
        "as Oura's client: the old refresh token is given up for the new one",
        "tests/vault/test_rotation.py::test_the_answer_is_stored_with_everything_the_next_refresh_needs",
    ),
    _.shown("B", "utf-8", "form bodies are UTF-8", TOKEN_REQUESTS + "test_a_body_that_is_no_form_is_a_json_error"),
)
