"""Which tests show which case of people who run such connectors; `test_catalogue` holds it against the tests.

A case is named by the letter and number it was reported under: D the source's data, A signing in at the source,
T token races, C hosts, S the authorization server, P faults read in other connectors.
"""

from typing import Final

_D, _A, _T = "tests/cases/test_d.py::", "tests/cases/test_a.py::", "tests/cases/test_t.py::"
_ABSENCE, _RANGES = "tests/cases/test_d_absence.py::", "tests/cases/test_d_ranges.py::"
_C, _S, _P = "tests/cases/test_c.py::", "tests/cases/test_s.py::", "tests/cases/test_p.py::"
_GAPS: Final = "tests/cases/test_d_gaps.py::"
_D_VALUES: Final = "tests/cases/test_d_values.py::"
_D_WORDS: Final = "tests/cases/test_d_words.py::"
_PARTIAL: Final = "tests/cases/test_d_partial.py::"
_JOURNEYS: Final = "tests/cases/test_d_journeys.py::"
_FLOODS: Final = "tests/attacks/test_floods.py::"
_BROWSER: Final = "tests/signin/test_browser.py::"
_CALLBACK: Final = "tests/signin/test_callback.py::"
_CONSENT: Final = "tests/signin/test_consent.py::"
_DISCOVERY: Final = "tests/authserver/protocol/test_discovery.py::"
_ENGINE: Final = "tests/sources/test_engine.py::"
_JOURNEY: Final = "tests/journey/"
_KILLED: Final = "tests/vault/test_processes.py::"
_OAUTH: Final = "tests/sources/test_oauth.py::"
_REFRESH: Final = "tests/authserver/issued/test_refresh.py::"
_ROTATION: Final = "tests/vault/test_rotation.py::"
_OUTCOMES: Final = "tests/vault/test_outcomes.py::"
_SIMULATED: Final = "tests/tools/test_against_simulator.py::"
_SYSTEM: Final = "tests/system/"
_WINDOWS: Final = "tests/sources/test_windows.py::"

# What has to hold now.
_NOW: Final = """
    A1 A2 A3 A5 A6 A7 A9 A10 A11  T1 T2 T3 T5 T6 T8 T9 T10 T11  C2 C3 C4 C5 C6 C7 C8 C11 C13 C14 C15 C16 C17 C18 C19
    S1 S2 S3 S4 S5 S7 S8 S9 S10 S11 S13 S15  P1 P2 P3 P4 P5 P6
    D1 D3 D4 D5 D6 D7 D9 D10 D11 D12 D14 D15 D16 D18 D19 D20 D22 D23 D24 D25 D27 D28 D29 D31 D32 D33
"""
REQUIRED: Final = tuple(_NOW.split())

SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "D1": (
        _D + "test_d1_a_day_brings_its_record_and_not_its_neighbours_in_all_collections",
        _SIMULATED + "test_the_records_are_those_of_the_range",
        "tests/sources/test_against_simulator.py::test_documents_of_each_single_day_are_right_wherever_one_lives",
    ),
    "D3": (
        _D + "test_d3_what_exists_for_today_is_found_today_in_all_collections",
        _SIMULATED + "test_today_is_the_record_of_today",
    ),
    "D4": (_D + "test_d4_a_night_is_the_wake_days_and_every_answer_about_it_says_wake_day",),
    "D5": (
        _D + "test_d5_today_is_the_owners_day_for_every_tool_that_knows_one",
        _JOURNEYS + "test_d5_on_a_journey_today_and_last_night_are_those_of_the_owners_clock",
        _JOURNEYS + "test_d5_the_clock_costs_one_request_and_none_where_nothing_depends_on_it",
        _JOURNEYS + "test_d5_without_the_nights_the_zone_decides",
        _JOURNEYS + "test_d5_a_zone_named_in_the_question_decides",
        _JOURNEYS + "test_d5_the_samples_of_last_night_are_those_of_the_main_sleep",
        _JOURNEYS + "test_d5_the_page_of_a_day_goes_by_the_owners_clock_as_every_other_answer",
        _JOURNEYS + "test_d5_the_doctor_says_by_which_zone_it_is_today",
        _JOURNEYS + "test_d5_the_records_do_not_wait_for_the_clock",
        "tests/tools/today/test_today.py::test_today_is_the_owners_day_and_not_the_servers",
        _RANGES + "test_d5_words_for_days_are_the_owners_days_in_all_collections",
        _RANGES + "test_d5_last_night_is_the_wake_day_or_the_hours_and_nothing_else",
    ),
    "D6": (
        _D + "test_d6_1231_samples_on_two_pages_are_1231_and_the_newest_is_the_last",
        _ENGINE + "test_every_page_is_read_and_the_newest_sample_is_the_last_of_the_last_page",
        _ENGINE + "test_a_cursor_that_repeats_ends_the_walk_and_is_said",
    ),
    "D7": (
        _RANGES + "test_d7_a_day_of_23_or_25_hours_has_exactly_its_samples",
        _D + "test_d7_a_day_of_samples_is_asked_from_midnight_to_midnight_with_the_offset",
        _WINDOWS + "test_one_day_of_samples_is_asked_from_local_midnight_to_the_next",
    ),
    "D9": (
        _D + "test_d9_no_tool_throws_an_offset_away",
        _RANGES + "test_d9_a_range_across_a_journey_says_which_days_carry_which_offset",
        _RANGES + "test_d9_a_clock_change_at_home_is_no_journey",
        "tests/tools/dates/test_clocks.py::test_a_single_day_of_samples_on_a_journey_tells_its_offset",
        "tests/tools/dates/test_clocks.py::test_the_newest_sample_tells_the_offset_and_its_time_by_the_owners_clock",
    ),
    "D10": (_D + "test_d10_d12_main_sleep_and_naps_stand_apart_and_add_up_in_any_order",),
    "D11": (_D + "test_d11_an_afternoon_nap_does_not_move_the_wake_time",),
    "D12": (_D + "test_d10_d12_main_sleep_and_naps_stand_apart_and_add_up_in_any_order",),
    "D14": (_D_VALUES + "test_d14_d15_d16_every_number_goes_out_as_what_it_is",),
    "D15": (_D_VALUES + "test_d14_d15_d16_every_number_goes_out_as_what_it_is",),
    "D16": (
        _D_VALUES + "test_d14_d15_d16_every_number_goes_out_as_what_it_is",
        _D_VALUES + "test_d16_every_heart_rate_variability_of_the_catalogue_is_rmssd_in_ms",
    ),
    "D18": (_D_VALUES + "test_d18_d19_d20_values_arrive_as_they_were_sent_with_their_unit",),
    "D19": (_D_VALUES + "test_d18_d19_d20_values_arrive_as_they_were_sent_with_their_unit",),
    "D20": (_D_VALUES + "test_d18_d19_d20_values_arrive_as_they_were_sent_with_their_unit",),
    "D22": (
        _JOURNEYS + "test_d22_a_night_that_is_not_over_has_a_word_of_its_own",
        _PARTIAL + "test_a_day_synced_in_part_says_so_in_every_collection_and_form",
        _PARTIAL + "test_the_times_of_the_record_tell_how_much_of_the_day_there_is_and_go_out_only_if_asked_for",
        _PARTIAL + "test_today_is_unfinished_in_all_that_grows_and_a_whole_day_is_not",
        _PARTIAL + "test_where_the_newest_sample_cannot_be_read_the_last_days_are_not_known_to_be_whole",
        _PARTIAL + "test_the_newest_record_alone_says_so_too",
        _PARTIAL + "test_the_page_of_a_day_says_what_of_it_is_not_whole",
        _PARTIAL + "test_a_day_shortened_by_a_journey_is_no_day_like_others",
        _PARTIAL + "test_a_day_of_sums_says_that_a_journey_made_it_shorter_or_longer_and_names_the_right_one",
        _PARTIAL + "test_what_the_ring_makes_waits_for_a_sync_before_none_is_said_to_be",
        _PARTIAL + "test_of_what_the_owner_writes_down_it_is_said_that_none_was_noted",
        _PARTIAL + "test_unworn_hours_go_before_the_silence_of_samples",
        _PARTIAL + "test_naps_or_rest_alone_are_no_night_and_their_total_is_not_its",
        _PARTIAL + "test_a_day_among_others_that_has_naps_or_rest_alone_is_one_without_a_night",
        _PARTIAL + "test_health_today_says_that_today_is_not_over_and_which_day_was_synced_in_part",
        _PARTIAL + "test_before_the_first_ring_is_said_as_such_in_all_that_it_measures",
        _PARTIAL + "test_what_bears_on_the_last_days_alone_is_said_of_them_alone",
        _PARTIAL + "test_samples_asked_for_alone_keep_what_places_them_in_time",
        _PARTIAL + "test_an_empty_value_is_missing_for_a_reason",
        _ABSENCE + "test_d22_not_worn_comes_from_the_non_wear_time_in_all_collections",
        _ABSENCE + "test_d22_not_synced_comes_from_the_newest_sample_in_all_collections",
        _ABSENCE + "test_d22_days_after_the_newest_sample_are_unsynced_and_days_before_it_are_not",
        _ABSENCE + "test_d22_before_the_morning_a_night_is_not_missed",
        _ABSENCE + "test_d22_not_permitted_names_the_scope_and_asks_nothing_in_all_collections",
        _ABSENCE + "test_d22_not_computed_is_a_record_without_a_score_or_a_night_without_its_records",
        _ABSENCE + "test_d22_without_a_membership_the_word_is_no_membership",
        _ABSENCE + "test_d22_what_a_ring_cannot_measure_it_lacks",
        _ABSENCE + "test_d22_what_lies_ahead_or_has_no_reason_is_said_plainly_in_all_collections",
        _ABSENCE + "test_d22_evidence_is_few_requests_only_when_something_is_missing_and_may_fail",
        _ABSENCE + "test_d22_a_day_in_a_drawer_and_a_morning_without_a_sync_in_the_simulated_life",
        _GAPS + "test_d22_every_missing_day_of_a_month_has_one_word_in_every_daily_collection",
        _GAPS + "test_d22_days_after_the_newest_sample_are_unsynced_and_days_ahead_are_ahead",
        _GAPS + "test_d22_what_is_not_computed_yet_is_told_from_what_never_was_inside_a_range",
        _GAPS + "test_d22_what_an_older_ring_lacked_is_told_inside_a_range",
        _GAPS + "test_d22_reasons_cost_four_requests_at_most_and_none_where_no_day_is_missing",
        _GAPS + "test_d22_more_days_than_can_be_looked_into_are_said_to_be_not_looked_up",
        _GAPS + "test_d22_a_cut_answer_explains_the_days_it_delivers_and_no_others",
        _GAPS + "test_d22_days_that_did_not_arrive_are_never_called_days_without_a_record",
        _GAPS + "test_d22_a_day_of_which_only_hours_were_asked_is_never_called_without_samples",
        _GAPS + "test_d22_what_comes_now_and_then_or_by_hand_has_no_gaps",
        _GAPS + "test_d22_very_many_gaps_are_named_from_the_newest_and_the_rest_counted",
        _GAPS + "test_d22_what_could_not_be_looked_at_is_no_sign_of_anything",
        _GAPS + "test_d22_whether_a_night_is_over_goes_by_the_owners_own_clock",
    ),
    "D23": (_D + "test_d23_a_night_of_eleven_days_ago_is_that_old_and_not_last_night",),
    "D24": (_D + "test_d24_what_comes_late_is_seen_at_the_next_question_in_all_collections",),
    "D25": (
        _D + "test_d25_95_days_of_samples_have_no_gap_and_no_double_and_no_window_over_30_days",
        _WINDOWS + "test_95_days_of_samples_are_four_windows_where_nothing_runs_side_by_side",
    ),
    "D27": (
        "tests/tools/query/test_year.py::test_every_record_of_a_year_comes_exactly_once",
        "tests/tools/query/test_year.py::test_every_sample_of_a_year_is_counted_exactly_once",
        "tests/tools/query/test_year.py::test_every_other_answer_is_under_the_limit_too",
        _RANGES + "test_d27_after_a_failed_window_going_on_gives_each_sample_once",
        _RANGES + "test_d27_raw_samples_after_a_failed_page_are_followed_to_the_end",
        _RANGES + "test_d27_where_no_day_is_whole_what_came_is_a_part_and_is_asked_for_again",
        _RANGES + "test_d27_a_part_that_is_cut_to_size_too_is_asked_for_again_from_its_start",
        _RANGES + "test_d27_a_small_cap_and_every_answer_followed_gives_each_record_once",
        _SIMULATED + "test_a_year_of_everything_fits_and_followed_to_its_end_is_whole",
        _SIMULATED + "test_raw_samples_followed_to_the_end_of_a_week_are_whole",
        "tests/tools/query/test_query_samples.py::"
        "test_no_more_days_are_fetched_than_one_answer_can_hold_and_all_are_had_in_the_end",
        "tests/tools/query/test_retries.py::test_a_window_that_fails_for_good_is_named_and_gone_on_from",
    ),
    "D28": ("tests/tools/test_path.py::test_nothing_that_pages_is_taken_or_passed_over_in_silence",),
    "D29": (_D_WORDS + "test_d29_impossible_dates_unknown_fields_and_latest_with_dates_are_never_passed_over",),
    "D31": (_RANGES + "test_d31_what_was_not_measured_counts_in_no_average",),
    "D32": (_D_WORDS + "test_d32_in_sandbox_mode_every_answer_of_every_tool_is_synthetic",),
    "D33": (
        _D_WORDS + "test_d33_without_a_membership_the_answer_says_membership_and_not_sign_in",
        _D_WORDS + "test_d33_a_403_that_names_a_scope_is_about_the_scope",
        _D_WORDS + "test_d33_where_oura_never_said_what_it_granted_both_reasons_are_named",
        _A + "test_a7_what_the_owner_unticked_is_refused_by_name_and_never_asked_for",
    ),
    "A1": (
        _A + "test_a1_a_personal_token_stops_the_start_and_names_the_way_in_that_exists",
        _A + "test_a1_a_personal_token_sent_by_an_app_gets_a_401_that_names_where_to_sign_in",
    ),
    "A2": (
        _A + "test_a2_what_the_legacy_endpoint_rejects_goes_to_the_new_one_and_stays_there",
        _A + "test_a2_an_application_that_moves_later_is_followed_at_the_next_renewal",
        _OAUTH + "test_a_renewal_goes_to_the_next_endpoint_where_the_first_does_not_know_the_application",
    ),
    "A3": (
        _A + "test_a3_a_401_at_the_first_exchange_sends_the_same_code_once_to_the_new_endpoint",
        _A + "test_a3_a_code_that_both_endpoints_reject_is_not_tried_a_third_time_and_the_page_is_clear",
        _OAUTH + "test_a_code_that_the_first_endpoint_rejects_is_tried_once_at_the_next",
    ),
    "A5": (
        _A + "test_a5_after_a_refused_renewal_every_tool_says_sign_in_and_no_number_goes_out",
        _A + "test_a5_an_app_keeps_its_own_tokens_when_the_sign_in_ended_and_is_told_where_to_sign_in",
    ),
    "A6": (
        _A + "test_a6_a_permanent_400_is_tried_at_most_once_a_call_and_all_collections_share_the_pause",
        _OUTCOMES + "test_a_permanent_failure_is_tried_at_most_once_a_call_and_the_pause_is_shared",
    ),
    "A7": (_A + "test_a7_what_the_owner_unticked_is_refused_by_name_and_never_asked_for",),
    "A9": (
        _A + "test_a9_one_redirect_uri_is_printed_and_that_very_one_is_sent",
        _CALLBACK + "test_a_refused_exchange_shows_the_exact_redirect_uri_and_what_to_check",
        "tests/shell/test_cli.py::test_check_is_green_for_a_configuration_that_works_and_prints_the_redirect_uri",
    ),
    "A10": (
        _A + "test_a10_a_wrong_state_is_400_asks_oura_nothing_and_harms_nobody",
        _A + "test_a10_the_owner_is_sent_to_the_host_that_asks_people",
        _CALLBACK + "test_an_unknown_state_is_400_without_an_exchange_and_the_process_lives",
    ),
    "A11": (
        _A + "test_a11_a_stranger_is_refused_revoked_and_forgotten_and_the_owner_notices_nothing",
        _A + "test_a11_a_stranger_gets_no_further_by_the_owners_own_page",
        _CALLBACK + "test_a_stranger_is_refused_revoked_and_forgotten_and_the_app_is_told",
    ),
    "T1": (
        _T + "test_t1_fifty_different_questions_after_expiry_are_one_refresh_and_fifty_answers",
        _T + "test_t1_fifty_questions_about_fifty_things_by_every_tool_are_one_refresh",
        _ROTATION + "test_fifty_callers_at_once_cause_one_refresh_and_get_fifty_answers",
    ),
    "T2": (
        _T + "test_t2_a_process_that_holds_the_old_token_reads_again_and_the_connection_stays",
        _ROTATION + "test_a_refusal_of_a_generation_that_is_no_longer_the_stored_one_ends_nothing",
    ),
    "T3": (
        _T + "test_t3_fifty_questions_to_two_processes_on_one_store_are_one_refresh",
        _SYSTEM
        + "test_one_renewal.py::test_fifty_calls_on_two_processes_after_expiry_are_one_renewal_and_fifty_answers",
        _KILLED + "test_two_processes_with_25_callers_each_cause_one_refresh",
    ),
    "T5": (
        _T + "test_t5_a_lost_answer_is_one_attempt_one_explanation_and_then_silence_at_oura",
        _OUTCOMES + "test_a_lost_answer_is_followed_by_one_attempt_one_explanation_and_silence_at_oura",
    ),
    "T6": (
        "tests/shell/test_processes.py::test_a_renewal_under_way_is_finished_before_the_process_ends",
        _KILLED + "test_asked_to_stop_between_spending_and_storing_a_process_stores_before_it_ends",
        _KILLED + "test_killed_between_spending_and_storing_the_next_call_says_so_once",
        _SYSTEM + "test_killed.py::test_killed_between_spend_and_store_the_owner_is_told_once_and_oura_asked_once",
    ),
    "T8": (
        _T + "test_t8_without_a_refresh_token_neither_an_app_nor_the_owners_page_is_connected",
        _CALLBACK + "test_without_a_refresh_token_it_does_not_call_itself_connected",
    ),
    "T9": (
        _T + "test_t9_only_an_explicit_refusal_ends_the_connection",
        _OAUTH + "test_only_an_explicit_refusal_is_the_end_of_a_refresh_token",
    ),
    "T10": (
        _T + "test_t10_a_clock_ten_minutes_ahead_renews_early_and_a_late_one_renews_once_on_401",
        _T + "test_t10_a_source_that_refuses_every_fresh_token_costs_one_renewal_and_not_one_a_call",
    ),
    "T11": (
        _T + "test_t11_a_reloaded_callback_says_already_connected_and_exchanges_nothing",
        _BROWSER + "test_reloading_the_callback_says_already_connected",
    ),
    "C2": (_BROWSER + "test_approving_reaches_the_apps_callback_with_the_browsers_zone_and_a_true_origin",),
    "C3": (
        _C + "test_c3_s2_the_issuer_is_one_string_wherever_it_stands",
        _JOURNEY + "test_whole_way_in_a_browser.py::"
        "test_the_owner_approves_in_chromium_and_the_app_asks_refreshes_and_leaves",
    ),
    "C4": (
        _C + "test_c4_only_what_is_granted_is_listed_and_a_refresh_token_comes_unasked",
        "tests/authserver/issued/test_token.py::test_a_refresh_token_comes_without_offline_access",
    ),
    "C5": (
        _C + "test_c5_one_refresh_token_six_times_from_two_addresses_leaves_one_live_family",
        _REFRESH + "test_presentations_at_the_same_moment_get_the_same_answer",
        "tests/authserver/issued/test_on_redis.py::test_a_refresh_token_gets_one_answer_on_two_machines",
    ),
    "C6": (
        _C + "test_c6_discovery_is_found_at_the_root_and_with_the_path_and_the_rest_is_json",
        _DISCOVERY + "test_everything_else_there_is_a_json_404",
    ),
    "C7": (
        _C + "test_c7_both_spellings_of_the_resource_are_answered_in_place",
        "tests/shell/test_headers.py::test_addresses_with_a_slash_too_many_are_404_and_never_redirected",
    ),
    "C8": (
        _C + "test_c8_an_app_that_is_known_by_its_document_connects_and_its_host_is_shown",
        _CONSENT + "test_a_client_with_a_document_shows_the_host_that_publishes_it",
    ),
    "C11": (
        "tests/tools/test_contract.py::test_the_tools_and_their_arguments_are_those_of_the_contract",
        "tests/shell/test_mcp.py::test_discover_is_answered_with_what_the_server_speaks",
    ),
    "C13": (_C + "test_c13_every_tool_is_marked_so_that_no_host_takes_it_for_a_write",),
    "C14": (
        _C + "test_c14_without_a_token_it_is_401_whatever_is_sent",
        "tests/shell/test_bearer.py::test_without_a_token_every_method_gets_401_and_the_bare_challenge",
    ),
    "C15": (_C + "test_c15_the_text_of_every_answer_carries_every_number_of_its_structure",),
    "C16": (
        _C + "test_c16_an_app_that_was_away_for_29_days_comes_back_and_the_page_shows_when",
        _REFRESH + "test_thirty_days_slide",
    ),
    "C17": (_C + "test_c17_only_post_is_answered_and_cors_is_for_metadata_alone",),
    "C18": (
        _C + "test_c18_no_route_takes_a_secret_in_its_address",
        "tests/authserver/protocol/test_token_requests.py::test_what_is_in_the_query_counts_for_nothing",
        "tests/shell/test_bearer.py::test_a_token_in_the_address_is_never_accepted",
    ),
    "C19": (
        _C + "test_c19_tokens_are_for_the_resource_that_was_named_and_stay_so_after_refreshes",
        _REFRESH + "test_the_binding_to_owner_resource_and_client_survives_ten_refreshes",
    ),
    "S1": (_S + "test_s1_a_public_app_is_expected_and_exchanges_without_a_secret",),
    "S2": (
        _C + "test_c3_s2_the_issuer_is_one_string_wherever_it_stands",
        _C + "test_s2_a_slash_that_the_operator_typed_is_nowhere_to_be_seen",
    ),
    "S3": (
        _S + "test_s3_behind_a_proxy_the_public_name_is_answered_and_no_other_whatever_is_forwarded",
        "tests/shell/test_guard.py::test_another_host_is_misdirected_everywhere",
    ),
    "S4": (
        _S + "test_s4_the_same_answer_within_the_window_and_the_end_of_the_family_after_it",
        _S + "test_s4_another_client_is_refused_and_nothing_is_revoked",
        _S + "test_s4_using_the_successor_closes_the_window",
        _REFRESH + "test_the_window_counts_from_the_moment_of_rotation_not_from_the_start_of_the_request",
    ),
    "S5": (
        _S + "test_s5_no_page_names_where_a_form_may_lead",
        _BROWSER + "test_approving_reaches_the_apps_callback_with_the_browsers_zone_and_a_true_origin",
        _BROWSER + "test_a_callback_that_hops_to_a_custom_scheme_is_followed_there",
    ),
    "S7": (
        _S + "test_s7_an_approval_counts_only_in_the_browser_that_gave_it",
        _S + "test_s7_a_post_from_another_site_with_the_attackers_token_is_refused",
        _BROWSER + "test_another_site_cannot_post_a_yes_even_with_a_token_it_fetched_itself",
    ),
    "S9": (
        "tests/authserver/clients/test_cimd_fetch.py::test_a_name_that_leads_inside_is_not_called",
        "tests/authserver/clients/test_cimd_fetch.py::test_a_name_that_is_rebound_after_the_check_changes_nothing",
        "tests/authserver/clients/test_cimd_fetch.py::test_only_200_counts_and_redirects_are_not_followed",
        "tests/authserver/clients/test_cimd_fetch.py::test_more_than_five_kilobytes_are_not_read",
        "tests/authserver/clients/test_cimd_fetch.py::test_a_server_that_drips_is_given_up_after_the_whole_time",
        "tests/authserver/clients/test_cimd.py::test_an_older_copy_serves_while_the_fetch_fails_but_not_for_ever",
    ),
    "S10": (_C + "test_c8_an_app_that_is_known_by_its_document_connects_and_its_host_is_shown",),
    "S11": (
        _S + "test_s11_what_is_advertised_is_how_long_it_lives_to_the_second",
        _REFRESH + "test_the_advertised_life_is_the_real_one",
    ),
    "S8": (  # with 100,000: `python -m bench flood`
        _FLOODS + "test_a_flood_from_many_addresses_leaves_next_to_nothing_and_keeps_no_honest_one_out",
        _FLOODS + "test_a_connected_app_goes_on_from_the_very_address_of_the_flood",
        _FLOODS + "test_addresses_that_many_people_share_have_more",
        "tests/shell/test_guard.py::test_a_body_up_to_the_limit_is_read_and_one_byte_more_is_413",
    ),
    "S13": (_S + "test_s13_a_public_app_is_given_no_secret_and_a_confidential_one_its_own",),
    "S15": (_S + "test_s4_the_same_answer_within_the_window_and_the_end_of_the_family_after_it",),
    "P1": (
        _P + "test_p1_a_known_or_short_secret_refuses_the_start",
        _P + "test_p1_two_installations_share_no_key",
        "tests/shell/test_settings.py::test_a_weak_key_is_refused_and_not_echoed",
    ),
    "P2": (
        _P + "test_p2_nothing_that_anyone_sends_comes_back_as_markup",
        _P + "test_p2_a_name_a_zone_and_what_oura_says_are_text_on_our_pages",
        "tests/signin/test_consent_texts.py::test_markup_in_any_parameter_or_name_comes_back_escaped",
    ),
    "P3": (
        _P + "test_p3_every_setting_is_exercised_and_the_readme_names_each",
        _P + "test_p3_each_setting_about_oura_changes_what_oura_is_sent",
        _P + "test_p3_the_size_of_an_answer_is_what_the_setting_says",
    ),
    "P4": (
        _P + "test_p4_a_call_under_way_on_the_apps_old_token_is_answered_after_a_refresh",
        _P + "test_p4_a_call_under_way_on_the_old_token_of_oura_is_answered_after_a_renewal",
    ),
    "P5": (_P + "test_p5_the_page_says_where_the_result_goes_for_each_kind_of_app",),
    "P6": (
        _P + "test_p6_what_is_no_answer_is_a_named_upstream_error_in_all_collections",
        _P + "test_p6_at_sign_in_an_account_that_cannot_be_read_is_nobody",
        _P + "test_p6_a_token_endpoint_that_answers_200_without_tokens_is_no_renewal",
    ),
}

# What is not shown yet, and why.
LATER: Final[dict[str, str]] = {
    "C1": "The doctor that looks from outside with both user agents is not built yet.",
    "C10": "Likewise the doctor: port, address family, private addresses.",
    "D26": "There are no baselines and no second source yet; that a ring was changed is said: "
    "test_d26_a_ring_change_inside_a_long_range_is_said_in_all_collections.",
}
