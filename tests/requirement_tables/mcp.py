"""MCP's authorization specification, revisions 2025-11-25 and 2026-07-28; what goes with it is in `mcp_practice`.

What it demands of servers. Its many demands on clients are the apps' to meet.
"""

from tests.requirement_tables.line import Line, Source
from tests.requirement_tables.places import (
    ADVISORIES,
    AUTHENTICATION,
    AUTHORIZE,
    BEARER,
    CIMD,
    CIMD_FETCH,
    CONSENT,
    DISCOVERY,
    GUARDS,
    ISSUING,
    JOURNEY,
    REDIRECTS,
    REFRESH,
    REGISTRATION,
    REVOKE,
    SETTINGS,
    TOKEN,
    TOKENS,
)

_AT = "https://modelcontextprotocol.io/specification"
_OLD = Source("MCP 2025-11-25, Authorization", "MCP-2025-11-25", _AT + "/2025-11-25/basic/authorization{}")
_NEW = Source("MCP 2026-07-28, Authorization", "MCP-2026-07-28", _AT + "/2026-07-28/basic/authorization{}")

_DISCOVERY, _REGISTRATION, _SECURITY = (
    "/authorization-server-discovery",
    "/client-registration",
    "/security-considerations",
)
_TLS = SETTINGS + "test_a_malformed_setting_stops_the_start_with_its_name_and_an_example"
_BARE = BEARER + "test_without_a_token_every_method_gets_401_and_the_bare_challenge"
_INVALID = BEARER + "test_a_bad_token_gets_401_that_says_so_and_does_not_repeat_it"
_ELSEWHERE = TOKENS + "test_a_token_for_one_address_is_no_good_at_another_on_the_same_store"
_PASSED_ON = ISSUING + "test_no_token_of_ours_reaches_oura_and_none_of_ouras_reaches_an_app"
_DOCUMENT = CIMD + "test_a_document_that_describes_no_client_of_ours_is_refused_with_the_reason"
_EXACT = REDIRECTS + "test_only_the_registered_address_is_ever_sent_to_also_with_an_error"
_SHOWS = CONSENT + "test_the_page_names_the_app_the_host_of_the_result_and_that_nobody_vouches_for_the_name"
_OWN_YES = ADVISORIES + "test_ghsa_c2jp_c369_7pvx_a_new_app_is_never_taken_to_oura_without_a_yes_of_its_own"


def _both(page: str, anchor: str, key: str, says: str, *tests: str, old: str | None = None) -> tuple[Line, Line]:
    """Lines of one demand that both revisions make: one page of headings then, several pages now."""
    earlier = "#" + (anchor if old is None else old)
    return _OLD.shown(earlier, key, says, *tests), _NEW.shown(f"{page}#{anchor}", key, says, *tests)


AUTHORIZATION = (
    *_both(
        "",
        "overview",
        "oauth",
        "OAuth 2.1 for confidential and public clients",
        AUTHENTICATION + "test_a_client_authenticates_by_the_method_it_registered",
        JOURNEY + "test_an_app_goes_from_401_to_an_answer_and_gives_its_access_back",
    ),
    *_both(
        "",
        "overview",
        "resource-metadata",
        "resource metadata is served",
        DISCOVERY + "test_the_resource_metadata_names_the_exact_resource_and_issuer",
    ),
    *_both(
        "",
        "overview",
        "server-metadata",
        "server metadata is served",
        DISCOVERY + "test_the_server_metadata_says_what_clients_decide_by",
    ),
    *_both(
        _DISCOVERY,
        "authorization-server-location",
        "names-server",
        "resource metadata names at least one server",
        DISCOVERY + "test_the_resource_metadata_names_the_exact_resource_and_issuer",
    ),
    *_both(
        _DISCOVERY,
        "protected-resource-metadata-discovery-requirements",
        "found",
        "it is found by the header of the 401 or at the well-known address",
        _BARE,
        DISCOVERY + "test_both_addresses_of_a_document_give_the_same_content",
    ),
    _NEW.shown(
        "#authorization-response-validation",
        "iss",
        "who sends iss advertises it",
        ISSUING + "test_metadata_names_nothing_empty_and_one_name_of_ours_everywhere",
    ),
    *_both(
        _REGISTRATION,
        "implementation-requirements",
        "draft",
        "documents follow the draft: https, a path, no dot segments, no fragment, no user",
        CIMD + "test_an_address_outside_the_rules_is_never_fetched",
        CIMD + "test_an_address_by_the_rules_is_fetched_as_it_was_sent",
    ),
    *_both(_REGISTRATION, "implementation-requirements", "same-id", "a document's client_id is its address", _DOCUMENT),
    *_both(
        _REGISTRATION,
        "implementation-requirements",
        "redirects",
        "redirect URIs are held against the document",
        CIMD + "test_a_portless_loopback_redirect_takes_any_port",
        ADVISORIES + "test_keycloak_50529_50748_no_other_address_of_a_document_is_called_or_believed",
    ),
    *_both(
        _REGISTRATION,
        "implementation-requirements",
        "valid",
        "a document is JSON with the members that it must have",
        _DOCUMENT,
    ),
    *_both(
        "",
        "token-requirements",
        "each-request",
        "each request carries its token, and none is taken from the address",
        _BARE,
        BEARER + "test_a_token_in_the_address_is_never_accepted",
    ),
    *_both(
        "",
        "token-handling",
        "validated",
        "each token is validated",
        _INVALID,
        REVOKE + "test_without_its_grant_a_token_is_refused",
    ),
    *_both(
        "",
        "token-handling",
        "audience",
        "a token must have been issued for this server",
        _ELSEWHERE,
        REVOKE + "test_a_token_for_another_resource_is_refused",
    ),
    *_both(
        "",
        "token-handling",
        "401",
        "an invalid or expired token gets 401",
        _INVALID,
        "tests/cases/test_c.py::test_c14_without_a_token_it_is_401_whatever_is_sent",
    ),
    *_both(
        "",
        "token-handling",
        "no-others",
        "no other token is accepted or passed on",
        TOKENS + "test_each_kind_of_secret_opens_only_its_own_door",
        _PASSED_ON,
    ),
    *_both(
        "",
        "error-handling",
        "statuses",
        "401 without or with a bad token, 403 for too little scope, 400 for what is malformed",
        _INVALID,
        BEARER + "test_a_missing_scope_is_403_and_names_what_is_held_and_what_is_needed",
        ISSUING + "test_the_words_of_every_error_are_of_the_characters_that_oauth_allows",
    ),
    _NEW.not_ours(
        "#step-up-authorization-flow",
        "hierarchy",
        "a broad scope includes its narrow ones",
        "There is one scope that grants anything, so none lies within another.",
    ),
)

SECURITY = (
    *_both(
        _SECURITY,
        "token-audience-binding-and-validation",
        "audience",
        "tokens of other audiences are refused",
        _ELSEWHERE,
        ADVISORIES + "test_cve_2025_69196_a_token_is_for_the_resource_that_was_asked_for_or_there_is_none",
    ),
    *_both(
        _SECURITY,
        "token-theft",
        "storage",
        "tokens are stored safely",
        TOKEN + "test_neither_the_store_nor_the_log_holds_a_token_a_code_or_a_secret",
        "tests/vault/test_connections.py::test_no_token_stands_in_the_store_in_the_clear",
    ),
    *_both(
        _SECURITY,
        "token-theft",
        "rotation",
        "refresh tokens of public clients rotate",
        REFRESH + "test_after_the_window_a_used_token_ends_the_family",
        TOKENS + "test_forty_refreshes_at_once_make_one_pair_of_tokens",
    ),
    *_both(
        _SECURITY,
        "communication-security",
        "https",
        "every endpoint is https",
        _TLS,
        GUARDS + "test_every_answer_is_unframeable_unsniffable_and_bound_to_https",
    ),
    *(
        source.gap(
            where,
            "redirects",
            "redirect URIs are localhost or https",
            "One more is taken, to the letter: Cursor registers its own scheme beside its https address, and "
            "refusing one refuses all three. Every other scheme is refused.",
            REGISTRATION + "test_a_redirect_uri_that_could_leak_a_code_is_refused",
        )
        for source, where in ((_OLD, "#communication-security"), (_NEW, f"{_SECURITY}#communication-security"))
    ),
    *_both(
        _SECURITY,
        "authorization-code-protection",
        "pkce",
        "PKCE with S256, and metadata says so",
        ADVISORIES + "test_cve_2025_4144_pkce_cannot_be_left_out_at_either_end",
        DISCOVERY + "test_the_server_metadata_says_what_clients_decide_by",
    ),
    *(
        source.not_ours(
            where,
            "oidc",
            "OpenID discovery names the PKCE methods",
            "OpenID discovery is not served; its address is a JSON 404.",
        )
        for source, where in (
            (_OLD, "#authorization-code-protection"),
            (_NEW, f"{_SECURITY}#authorization-code-protection"),
        )
    ),
    *_both(_SECURITY, "open-redirection", "exact", "redirect URIs are compared exactly with registered ones", _EXACT),
    *_both(
        _SECURITY,
        "open-redirection",
        "untrusted",
        "nobody is redirected to untrusted addresses",
        AUTHORIZE + "test_nothing_leads_from_a_link_to_us_to_a_strangers_page",
    ),
    *_both(
        _SECURITY,
        "client-id-metadata-document-security",
        "considered",
        "the draft's security section is heeded",
        CIMD_FETCH + "test_a_name_that_leads_inside_is_not_called",
        CIMD_FETCH + "test_a_name_that_is_rebound_after_the_check_changes_nothing",
        CIMD_FETCH + "test_only_200_counts_and_redirects_are_not_followed",
    ),
    *_both(
        _SECURITY,
        "localhost-redirect-uri-risks",
        "host",
        "the host of the redirect URI is shown",
        _SHOWS,
        CONSENT + "test_a_result_that_stays_on_this_computer_is_named_so_and_warned_about",
    ),
    *_both(
        _SECURITY,
        "confused-deputy-problem",
        "consent",
        "each registered client needs its own consent before the way goes on",
        _OWN_YES,
    ),
    *_both(
        _SECURITY,
        "access-token-privilege-restriction",
        "before",
        "tokens are validated before anything is done",
        _BARE,
        REVOKE + "test_an_owner_who_was_removed_is_shut_out_at_once",
    ),
    *_both(
        _SECURITY,
        "access-token-privilege-restriction",
        "passthrough",
        "a client's token never goes upstream",
        _PASSED_ON,
    ),
)

LINES = (*AUTHORIZATION, *SECURITY)
