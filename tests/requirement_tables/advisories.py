"""Published holes of other connectors, of SDKs and of what we build on, and the test that tries each one here."""

from tests.requirement_tables.line import Line
from tests.requirement_tables.places import ADVISORIES, ADVISORIES_MCP

_CVE, _GHSA = "https://nvd.nist.gov/vuln/detail/{}", "https://github.com/advisories/{}"
_ISSUES = {
    "workers-oauth-provider #97": "https://github.com/cloudflare/workers-oauth-provider/pull/97",
    "fastmcp PR 3519": "https://github.com/jlowin/fastmcp/pull/3519",
    "fastmcp #4265": "https://github.com/jlowin/fastmcp/issues/4265",
    "python-sdk #2100": "https://github.com/modelcontextprotocol/python-sdk/issues/2100",
    "nutrition-mcp #148": "https://github.com/advisories/GHSA-wx5f-576r-gpcx",  # the same hole
    "keycloak #50529": "https://github.com/keycloak/keycloak/issues/50529",
    "keycloak #50748": "https://github.com/keycloak/keycloak/issues/50748",
}


def _hole(name: str, says: str, *tests: str) -> Line:
    link = _ISSUES.get(name) or (_CVE if name.startswith("CVE-") else _GHSA).format(name)
    return Line(id=name, source=name, link=link, says=says, tests=tests)


_REDIRECT = ADVISORIES + "test_cve_2025_4143_no_code_goes_to_an_address_that_was_not_registered"
_BROWSER = ADVISORIES + "test_cve_2026_27124_ghsa_rww4_4w9c_7733_only_the_browser_that_said_yes_finishes"
_AUDIENCE = ADVISORIES + "test_cve_2025_69196_a_token_is_for_the_resource_that_was_asked_for_or_there_is_none"
_REBINDING = ADVISORIES_MCP + (
    "test_cve_2025_66416_ghsa_9h52_p55h_vw2f_ghsa_w48q_a_page_that_rebinds_its_name_reaches_nothing"
)
_SESSION = ADVISORIES_MCP + "test_python_sdk_2100_cve_2026_33946_the_session_of_another_is_no_way_to_their_data"
_CROSSING = ADVISORIES_MCP + "test_cve_2026_25536_ghsa_345p_7cg4_v4c7_fifty_at_once_with_one_id_get_each_their_own"
_SCRIPT = ADVISORIES + "test_cve_2025_58444_cve_2025_49596_nothing_that_we_emit_is_a_script"
_VOUCHES = ADVISORIES + "test_cve_2026_27962_cve_2026_28802_a_token_that_vouches_for_itself_opens_nothing"
_ERRORS = ADVISORIES + "test_cve_2026_41479_cve_2026_44681_no_error_goes_to_an_address_that_nobody_registered"
_BOUNDS = ADVISORIES_MCP + (
    "test_cve_2026_28498_cve_2026_48710_cve_2026_24486_cve_2026_32597_no_version_with_a_known_hole_is_installed"
)
_DOCUMENT = ADVISORIES + "test_keycloak_50529_50748_no_other_address_of_a_document_is_called_or_believed"

LINES = (
    _hole("CVE-2025-4143", "redirect URI not checked at /authorize", _REDIRECT),
    _hole("CVE-2025-4144", "PKCE left out", ADVISORIES + "test_cve_2025_4144_pkce_cannot_be_left_out_at_either_end"),
    _hole(
        "workers-oauth-provider #97",
        "scripts as redirect URIs",
        ADVISORIES + "test_workers_oauth_provider_97_no_app_registers_an_address_that_is_a_script",
    ),
    _hole(
        "GHSA-c2jp-c369-7pvx",
        "no consent of its own for a new client",
        ADVISORIES + "test_ghsa_c2jp_c369_7pvx_a_new_app_is_never_taken_to_oura_without_a_yes_of_its_own",
    ),
    _hole("CVE-2026-27124", "consent not bound to the browser", _BROWSER),
    _hole("GHSA-rww4-4w9c-7733", "the same", _BROWSER),
    _hole(
        "fastmcp PR 3519",
        "a double submit that can be forged",
        ADVISORIES + "test_pr_3519_a_pair_of_cookie_and_form_that_an_attacker_made_up_or_planted_is_worth_nothing",
    ),
    _hole(
        "GHSA-6x8h-498w-gv8c",
        "remembered consent used for another request",
        ADVISORIES + "test_ghsa_6x8h_498w_gv8c_no_yes_is_remembered_whatever_asks_again",
    ),
    _hole("CVE-2025-69196", "resource ignored", _AUDIENCE),
    _hole("GHSA-5h2m-4q8j-pqpj", "the same", _AUDIENCE),
    _hole(
        "GHSA-vv7q-7jx5-f767",
        "arguments become paths",
        ADVISORIES_MCP + "test_ghsa_vv7q_7jx5_f767_no_argument_of_a_tool_becomes_a_path_or_a_query",
    ),
    _hole(
        "fastmcp #4265",
        "a refresh race, and a second tab that kills the first",
        ADVISORIES + "test_fastmcp_4265_two_refreshes_at_once_and_two_tabs_at_once_all_get_through",
    ),
    _hole("CVE-2025-66416", "DNS rebinding", _REBINDING),
    _hole("GHSA-9h52-p55h-vw2f", "the same", _REBINDING),
    _hole("GHSA-w48q-cv73-mx4w", "the same in the TypeScript SDK", _REBINDING),
    _hole(
        "GHSA-j975-95f5-7wqh",
        "a malformed message stops the server",
        ADVISORIES_MCP + "test_ghsa_j975_95f5_7wqh_no_malformed_message_is_a_fault_and_the_next_is_answered",
    ),
    _hole("python-sdk #2100", "another's session id accepted", _SESSION),
    _hole("CVE-2026-33946", "the same in the Ruby SDK", _SESSION),
    _hole("GHSA-qvqr-5cv7-wh35", "the same", _SESSION),
    _hole("CVE-2026-25536", "answers cross between users", _CROSSING),
    _hole("GHSA-345p-7cg4-v4c7", "the same", _CROSSING),
    _hole(
        "GHSA-8r9q-7v3j-jr4g",
        "an address that takes for ever to match",
        ADVISORIES_MCP + "test_ghsa_8r9q_7v3j_jr4g_no_resource_address_takes_long_to_refuse",
    ),
    _hole(
        "CVE-2025-6514",
        "endpoints that a stranger names",
        ADVISORIES + "test_cve_2025_6514_what_apps_open_is_named_by_our_settings_alone",
    ),
    _hole("CVE-2025-58444", "a script as an address, shown", _SCRIPT),
    _hole("CVE-2025-49596", "a local proxy without a lock: the client's, so we only emit no scripts", _SCRIPT),
    _hole("CVE-2026-27962", "a key inside a token believed", _VOUCHES),
    _hole("CVE-2026-28802", "a token without a signature believed", _VOUCHES),
    _hole("CVE-2026-28498", "Authlib before 1.6.9", _BOUNDS),
    _hole("CVE-2026-41479", "errors redirected to addresses that nobody checked", _ERRORS),
    _hole("CVE-2026-44681", "the same", _ERRORS),
    _hole("GHSA-r95x-qfjj-fjj2", "the same", _ERRORS),
    _hole(
        "CVE-2025-61920",
        "huge tokens",
        ADVISORIES + "test_cve_2025_61920_a_huge_assertion_is_refused_before_it_is_read",
        _BOUNDS,
    ),
    _hole("CVE-2026-48710", "Starlette before 1.0.1", _BOUNDS),
    _hole("CVE-2026-24486", "python-multipart before 0.0.22", _BOUNDS),
    _hole("CVE-2026-32597", "PyJWT before 2.12", _BOUNDS),
    _hole("keycloak #50529", "addresses in a document called", _DOCUMENT),
    _hole("keycloak #50748", "other addresses of the same host believed", _DOCUMENT),
    _hole("GHSA-wx5f-576r-gpcx", "redirect URI not checked", _REDIRECT),
    _hole("nutrition-mcp #148", "redirect URI not checked", _REDIRECT),
)
