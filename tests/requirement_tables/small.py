"""RFC 7636, 7009, 7591, 8414, 8707, 9207 and 9728: what each demands of a server like this one."""

from tests.requirement_tables.line import Source
from tests.requirement_tables.places import (
    AUTHENTICATION,
    AUTHORIZE,
    BEARER,
    CONSENT,
    DISCOVERY,
    ISSUING,
    JOURNEY,
    REGISTRATION,
    REVOKE,
    SETTINGS,
    TOKEN,
    TOKEN_REQUESTS,
)

_RFC = "https://www.rfc-editor.org/rfc/rfc{}#section-{{}}"
_TLS = SETTINGS + "test_a_malformed_setting_stops_the_start_with_its_name_and_an_example"
_TOLD = AUTHORIZE + "test_after_that_the_app_is_told_with_its_state_and_our_name_once"
_WRONG_CODE = TOKEN + "test_a_wrong_attempt_is_refused_and_does_not_spend_the_code"
_REGISTERED = ISSUING + "test_what_was_registered_comes_back_with_an_id_of_ours"
_METADATA = DISCOVERY + "test_the_server_metadata_says_what_clients_decide_by"
_ONE_NAME = ISSUING + "test_metadata_names_nothing_empty_and_one_name_of_ours_everywhere"
_SAME = DISCOVERY + "test_both_addresses_of_a_document_give_the_same_content"
_PUBLIC = DISCOVERY + "test_a_document_is_cacheable_public_and_answers_head_like_get"

_ = Source("RFC 7636 (PKCE)", "7636", _RFC.format(7636))
PKCE = (
    _.shown("4.1", "verifier", "a verifier has 43 to 128 characters of a fixed set", _WRONG_CODE),
    _.shown("4.2", "s256", "S256 is understood", TOKEN + "test_a_code_buys_tokens_that_open_the_resource"),
    _.gap(
        "4.3",
        "plain",
        "a challenge without a method means plain",
        "Refused instead: OAuth 2.1 and MCP want S256, and plain protects nobody whose request is read.",
        _TOLD,
    ),
    _.shown(
        "4.4",
        "bound",
        "the challenge is kept with the code, out of others' sight",
        TOKEN + "test_neither_the_store_nor_the_log_holds_a_token_a_code_or_a_secret",
        _WRONG_CODE,
    ),
    _.shown("4.4.1", "required", "where PKCE is required, a request without it is invalid_request", _TOLD),
    _.shown("4.4.1", "method", "an unknown method is invalid_request", _TOLD),
    _.shown(
        "4.6",
        "compared",
        "a verifier that does not fit is invalid_grant",
        _WRONG_CODE,
        "tests/attacks/test_advisories.py::test_cve_2025_4144_pkce_cannot_be_left_out_at_either_end",
    ),
    _.shown("7.2", "no-plain", "new servers do not serve plain", _TOLD),
)

_ = Source("RFC 7009 (revocation)", "7009", _RFC.format(7009))
REVOCATION = (
    _.shown(
        "2", "refresh", "refresh tokens can be revoked", REVOKE + "test_revoking_a_refresh_token_ends_the_whole_grant"
    ),
    _.shown("2", "https", "the endpoint is https", _TLS, _METADATA),
    _.shown("2.1", "token", "the token is required", REVOKE + "test_a_malformed_revocation_is_refused"),
    _.shown("2.1", "hint", "a wrong hint does not hide the token", REVOKE + "test_the_hint_decides_nothing"),
    _.shown(
        "2.1",
        "client",
        "client and ownership are checked first",
        REVOKE + "test_a_confidential_app_must_prove_itself_to_revoke",
        REVOKE + "test_an_app_can_revoke_only_its_own",
    ),
    _.shown(
        "2.1",
        "at-once",
        "a revoked token is dead at once",
        JOURNEY + "test_an_app_goes_from_401_to_an_answer_and_gives_its_access_back",
    ),
    _.shown(
        "2.2", "unknown", "an unknown token is answered with 200", REVOKE + "test_an_unknown_token_is_revoked_already"
    ),
    _.not_ours(
        "2.3", "jsonp", "JSONP callbacks", "Optional, and not served: no script of another site may read an answer."
    ),
    _.shown(
        "5",
        "guessing",
        "nobody can try tokens out here",
        ISSUING + "test_what_opens_something_is_256_random_bits_and_never_the_same",
    ),
)

_ = Source("RFC 7591 (registration)", "7591", _RFC.format(7591))
DYNAMIC_REGISTRATION = (
    _.shown(
        "2",
        "redirects",
        "redirect_uris is served and required",
        REGISTRATION + "test_metadata_that_cannot_work_here_is_refused_with_the_reason",
    ),
    _.shown(
        "2", "unknown", "metadata that is not understood is ignored", REGISTRATION + "test_what_real_apps_send_is_taken"
    ),
    _.gap(
        "2",
        "default-method",
        "no token_endpoint_auth_method means client_secret_basic",
        "Registered as none, and said so in the answer, as section 3.2.1 allows: apps that leave it out are public "
        "ones.",
        REGISTRATION + "test_an_app_that_names_no_method_becomes_public_and_is_told",
    ),
    _.not_ours(
        "2", "jwks", "jwks and jwks_uri never stand together", "Neither is used: no method with keys is served."
    ),
    _.gap(
        "2.2",
        "as-is",
        "a human-readable name is shown as it is",
        "Shown without what hides or turns text, and cut: a stranger chose it, and the page decides about health data.",
        "tests/attacks/test_consent.py::test_a_name_can_neither_hide_nor_spill_over_nor_be_markup",
        "tests/attacks/test_consent.py::test_an_honest_name_in_any_script_is_shown_as_it_is",
    ),
    _.not_ours(
        "2.3",
        "statement",
        "a software statement is signed, wins, and comes back",
        "Not supported, and ignored as section 3.1.1 allows.",
    ),
    _.shown(
        "3",
        "post-json",
        "the endpoint takes JSON by POST",
        _REGISTERED,
        DISCOVERY + "test_endpoints_take_post_alone_and_no_foreign_origin",
    ),
    _.shown("3", "tls", "the endpoint needs TLS", _TLS),
    _.shown("3.2.1", "id", "the answer has an id of ours, 201 and JSON", _REGISTERED),
    _.shown(
        "3.2.1",
        "secret",
        "a secret is the client's own, with its end",
        REGISTRATION + "test_an_app_that_asks_for_a_secret_gets_its_own",
    ),
    _.shown("3.2.1", "echo", "everything registered comes back", _REGISTERED),
    _.shown(
        "3.2.2",
        "errors",
        "errors are 400, JSON, with an error code",
        REGISTRATION + "test_metadata_that_cannot_work_here_is_refused_with_the_reason",
    ),
    _.shown(
        "5",
        "registered",
        "no client without a redirect URI",
        REGISTRATION + "test_metadata_that_cannot_work_here_is_refused_with_the_reason",
    ),
    _.shown(
        "5",
        "kinds",
        "a redirect URI is https, http on this machine, or an app's own scheme",
        REGISTRATION + "test_a_redirect_uri_that_could_leak_a_code_is_refused",
    ),
    _.shown(
        "5",
        "self-asserted",
        "what a client says of itself is treated as a claim",
        "tests/attacks/test_consent.py::test_the_name_of_a_well_known_app_gives_a_registered_one_no_standing",
    ),
    _.shown(
        "5",
        "urls",
        "nothing that a client names is called or shown as a link",
        "tests/attacks/test_advisories.py::test_cve_2025_58444_cve_2025_49596_nothing_that_we_emit_is_a_script",
    ),
    _.shown("6", "own-id", "a client cannot choose its id", _REGISTERED),
)

_ = Source("RFC 8414 (server metadata)", "8414", _RFC.format(8414))
SERVER_METADATA = (
    _.shown(
        "2",
        "issuer",
        "the issuer is https without query or fragment",
        _METADATA,
        SETTINGS + "test_a_malformed_setting_stops_the_start_with_its_name_and_an_example",
    ),
    _.shown(
        "2", "required", "authorization_endpoint, token_endpoint and response_types_supported are there", _METADATA
    ),
    _.not_ours(
        "2",
        "keys",
        "jwks_uri is https; signing algorithms are listed and never none",
        "Nothing is signed: tokens are opaque.",
    ),
    _.shown(
        "3",
        "well-known",
        "the document is at the well-known address of the issuer",
        DISCOVERY + "test_the_server_metadata_says_what_clients_decide_by",
    ),
    _.shown("3.1", "get", "it answers GET", _PUBLIC),
    _.shown("3.2", "json", "200 and application/json", _PUBLIC),
    _.shown("3.2", "empty", "nothing empty is in it", _ONE_NAME),
    _.shown(
        "3.3",
        "identical",
        "issuer is exactly the one that the address was made from",
        "tests/cases/test_c.py::test_c3_s2_the_issuer_is_one_string_wherever_it_stands",
    ),
    _.shown(
        "4",
        "code-points",
        "strings are compared as they are, without normalisation",
        AUTHORIZE + "test_until_app_and_address_are_proven_there_is_a_page_and_no_way_on",
        "tests/attacks/test_redirects.py::test_only_the_registered_address_is_ever_sent_to_also_with_an_error",
    ),
    _.shown("6.1", "tls", "metadata goes over TLS", _TLS),
    _.not_ours("2.1", "signed", "signed metadata is signed and wins", "Optional, and not served."),
)

_ = Source("RFC 8707 (resource indicators)", "8707", _RFC.format(8707))
RESOURCE_INDICATORS = (
    _.shown("2", "absolute", "a resource is an absolute URI without a fragment", _TOLD),
    _.shown(
        "2",
        "several",
        "more than one resource is a matter of policy: refused",
        _TOLD,
        TOKEN_REQUESTS + "test_two_resources_are_refused",
    ),
    _.shown(
        "2.2",
        "token",
        "a token request may name the resource, and only the granted one",
        "tests/attacks/test_advisories.py::test_cve_2025_69196_a_token_is_for_the_resource_that_was_asked_for_or_there_is_none",
    ),
    _.shown(
        "2.2",
        "scope",
        "the scope in effect is said",
        ISSUING + "test_the_scope_that_was_granted_is_said_with_the_tokens",
    ),
    _.shown(
        "3",
        "audience",
        "a token for one resource is no good at another",
        "tests/attacks/test_tokens.py::test_a_token_for_one_address_is_no_good_at_another_on_the_same_store",
    ),
)

_ = Source("RFC 9207 (issuer in the answer)", "9207", _RFC.format(9207))
ISSUER = (
    _.shown(
        "2",
        "always",
        "every answer names us, errors too",
        _TOLD,
        CONSENT + "test_no_goes_back_with_access_denied_state_and_iss",
        "tests/signin/test_callback.py::test_the_owner_is_connected_and_the_app_gets_its_code_with_state_and_iss",
    ),
    _.shown("2", "https", "iss is https without query or fragment", _ONE_NAME, _TLS),
    _.shown("2.3", "metadata", "iss and issuer are one string, and iss is advertised", _ONE_NAME),
    _.not_ours(
        "2.4",
        "id-token",
        "iss agrees with that of an ID token or a signed answer",
        "Neither ID tokens nor signed answers are issued.",
    ),
)

_ = Source("RFC 9728 (resource metadata)", "9728", _RFC.format(9728))
RESOURCE_METADATA = (
    _.shown(
        "2",
        "resource",
        "the document names the resource",
        DISCOVERY + "test_the_resource_metadata_names_the_exact_resource_and_issuer",
    ),
    _.not_ours("2", "keys", "jwks_uri and signing algorithms", "Answers are not signed."),
    _.not_ours("2.2", "signed", "signed metadata is signed, names its issuer, and wins", "Optional, and not served."),
    _.shown("3", "well-known", "the document is where the resource's address puts it", _SAME),
    _.shown("3.1", "get", "it answers GET, and no slash is doubled", _SAME, _PUBLIC),
    _.shown("3.2", "json", "200 and application/json", _PUBLIC),
    _.shown("3.2", "empty", "nothing empty is in it", _ONE_NAME),
    _.shown(
        "3.3",
        "identical",
        "resource is exactly the address that clients call",
        "tests/cases/test_c.py::test_c6_discovery_is_found_at_the_root_and_with_the_path_and_the_rest_is_json",
        _ONE_NAME,
    ),
    _.shown(
        "5.1",
        "challenge",
        "the 401 names the document",
        BEARER + "test_without_a_token_every_method_gets_401_and_the_bare_challenge",
    ),
    _.shown(
        "6",
        "code-points",
        "strings are compared as they are",
        AUTHENTICATION + "test_a_client_authenticates_by_the_method_it_registered",
        _TOLD,
    ),
    _.shown("7.1", "tls", "metadata goes over TLS", _TLS),
)

LINES = (
    *PKCE,
    *REVOCATION,
    *DYNAMIC_REGISTRATION,
    *SERVER_METADATA,
    *RESOURCE_INDICATORS,
    *ISSUER,
    *RESOURCE_METADATA,
)
