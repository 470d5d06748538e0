"""RFC 6749, The OAuth 2.0 Authorization Framework, sections 1 to 4.1.1: clients and the two endpoints.

Its demands on clients concern us where we are one, of Oura; they stand in `rfc6749_tokens`, with codes and tokens.
"""

from tests.requirement_tables.line import Source
from tests.requirement_tables.places import (
    ADVISORIES,
    AUTHENTICATION,
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    DISCOVERY,
    GUARDS,
    ISSUING,
    REDIRECTS,
    REGISTRATION,
    REVOKE,
    SETTINGS,
    TOKEN_REQUESTS,
)

_ = Source("RFC 6749", "6749", "https://www.rfc-editor.org/rfc/rfc6749#section-{}")
_TLS_REFUSED = SETTINGS + "test_a_malformed_setting_stops_the_start_with_its_name_and_an_example"
_UNTOLD = AUTHORIZE + "test_until_app_and_address_are_proven_there_is_a_page_and_no_way_on"
_TOLD = AUTHORIZE + "test_after_that_the_app_is_told_with_its_state_and_our_name_once"
_RANDOM = ISSUING + "test_what_opens_something_is_256_random_bits_and_never_the_same"
_BY_METHOD = AUTHENTICATION + "test_a_client_authenticates_by_the_method_it_registered"

LINES = (
    _.shown("1.6", "tls", "everything that carries credentials goes over TLS", _TLS_REFUSED),
    _.shown(
        "2.2",
        "id-alone",
        "a client's id alone never authenticates one that has a secret",
        _BY_METHOD,
        REVOKE + "test_a_confidential_app_must_prove_itself_to_revoke",
    ),
    _.shown(
        "2.3",
        "public",
        "who a public client is, is never concluded from what it sends as credentials",
        CONSENT + "test_the_page_names_the_app_the_host_of_the_result_and_that_nobody_vouches_for_the_name",
        _BY_METHOD,
    ),
    _.shown(
        "2.3",
        "one-method",
        "one method of authentication a request",
        AUTHENTICATION + "test_two_ways_of_authenticating_at_once_are_refused",
    ),
    _.shown("2.3.1", "basic", "clients with a password can use HTTP Basic", _BY_METHOD),
    _.shown(
        "2.3.1",
        "query",
        "credentials are never taken from the address",
        ISSUING + "test_a_secret_in_the_address_authenticates_nobody",
    ),
    _.shown("2.3.1", "tls", "password authentication only over TLS", _TLS_REFUSED),
    _.shown(
        "2.3.1",
        "brute-force",
        "secrets cannot be found by trying",
        _RANDOM,
        GUARDS + "test_every_secret_that_is_compared_is_compared_in_constant_time",
    ),
    _.not_ours("2.3.2", "other-methods", "other methods map a client's id to a scheme", "No other method is served."),
    _.shown(
        "3.1",
        "owner",
        "the resource owner is identified before anything is granted",
        CALLBACK + "test_a_stranger_is_refused_revoked_and_forgotten_and_the_app_is_told",
        CALLBACK + "test_the_owner_is_connected_and_the_app_gets_its_code_with_state_and_iss",
    ),
    _.shown(
        "3.1",
        "tls",
        "the authorization endpoint needs TLS",
        _TLS_REFUSED,
        GUARDS + "test_every_answer_is_unframeable_unsniffable_and_bound_to_https",
    ),
    _.shown(
        "3.1",
        "no-fragment",
        "no endpoint's address has a fragment",
        ISSUING + "test_metadata_names_nothing_empty_and_one_name_of_ours_everywhere",
    ),
    _.shown(
        "3.1",
        "get",
        "the authorization endpoint answers GET",
        AUTHORIZE + "test_whatever_apps_send_beside_leads_to_the_consent_page_each_time_it_is_opened",
    ),
    _.shown(
        "3.1",
        "no-value",
        "a parameter without a value counts as left out, here too",
        AUTHORIZE + "test_whatever_apps_send_beside_leads_to_the_consent_page_each_time_it_is_opened",
        AUTHORIZE + "test_a_state_without_a_value_counts_as_none",
    ),
    _.shown(
        "3.1",
        "unknown",
        "unknown parameters are ignored",
        AUTHORIZE + "test_whatever_apps_send_beside_leads_to_the_consent_page_each_time_it_is_opened",
    ),
    _.shown(
        "3.1",
        "once",
        "a known parameter stands once",
        _TOLD,
        AUTHORIZE + "test_a_state_that_came_twice_comes_back_not_at_all",
    ),
    _.shown("3.1.1", "response-type", "a missing or unknown response_type is an error", _TOLD),
    _.shown(
        "3.1.2",
        "absolute",
        "a redirect URI is absolute and has no fragment",
        REGISTRATION + "test_a_redirect_uri_that_could_leak_a_code_is_refused",
    ),
    _.shown(
        "3.1.2",
        "query-kept",
        "the query of a redirect URI is kept",
        "tests/authserver/protocol/test_authorizations.py::test_an_answer_leaves_the_registered_address_as_it_is",
    ),
    _.shown(
        "3.1.2.2",
        "registered",
        "public clients register where answers go",
        REGISTRATION + "test_metadata_that_cannot_work_here_is_refused_with_the_reason",
    ),
    _.shown("3.1.2.3", "named", "the request names one of several registered redirect URIs", _UNTOLD),
    _.shown(
        "3.1.2.3",
        "compared",
        "it is compared as a plain string",
        REDIRECTS + "test_only_the_registered_address_is_ever_sent_to_also_with_an_error",
    ),
    _.shown(
        "3.1.2.4",
        "no-redirect",
        "no redirect to an address that is not proven",
        _UNTOLD,
        ADVISORIES + "test_cve_2026_41479_cve_2026_44681_no_error_goes_to_an_address_that_nobody_registered",
    ),
    _.shown("3.2", "tls", "the token endpoint needs TLS", _TLS_REFUSED),
    _.shown(
        "3.2",
        "post",
        "the token endpoint takes POST",
        DISCOVERY + "test_endpoints_take_post_alone_and_no_foreign_origin",
    ),
    _.shown(
        "3.2",
        "ignored",
        "what has no value or is unknown changes nothing",
        ISSUING + "test_a_parameter_that_nobody_knows_or_without_a_value_changes_nothing",
    ),
    _.shown(
        "3.2",
        "once",
        "a parameter stands once",
        TOKEN_REQUESTS + "test_a_good_request_must_also_be_sent_as_a_form_with_each_parameter_once",
    ),
    _.shown("3.2.1", "authenticate", "clients with credentials authenticate here", _BY_METHOD),
    _.shown(
        "3.3",
        "said",
        "a scope other than the one asked for is said",
        ISSUING + "test_the_scope_that_was_granted_is_said_with_the_tokens",
    ),
    _.shown(
        "3.3",
        "default",
        "no scope means the default one",
        AUTHORIZE + "test_whatever_apps_send_beside_leads_to_the_consent_page_each_time_it_is_opened",
    ),
)
