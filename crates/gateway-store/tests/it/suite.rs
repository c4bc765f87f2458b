//! Tests that run on SQLite and on PostgreSQL.

mod admin;
mod alerts;
mod budgets;
mod holds;
mod idempotency;
mod ledger_check;
mod limits;
mod media;
mod processes;
mod references;
pub(crate) mod research;
pub(crate) mod responses;
mod sessions;
mod teams;
mod usage;

use crate::test_database::TestDatabase;

macro_rules! suite {
    ($($module:ident: $($test:ident),* $(,)?;)*) => {
        mod on_sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    super::$module::$test(super::TestDatabase::sqlite().await).await;
                }
            )*)*
        }
        mod on_postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    super::$module::$test(super::TestDatabase::postgres().await).await;
                }
            )*)*
        }
    };
}

suite! {
    alerts:
        a_condition_is_reported_once_until_it_ends,
        one_sender_at_a_time_has_a_delivery,
        the_newest_credit_is_found;
    processes:
        reloads_are_counted_and_followed,
        drained_providers_are_shared;
    holds:
        settled_holds_are_charged_and_released_ones_are_not,
        concurrent_ends_of_a_hold_charge_once,
        callers_on_other_runtimes_get_replies_and_may_disappear,
        a_hold_is_ended_only_for_its_member,
        concurrent_holds_never_exceed_the_balance,
        concurrent_members_do_not_affect_each_other,
        transfers_are_posted_and_audited,
        adjustments_cannot_take_held_money,
        statements_are_paged,
        usage_counts_charged_requests,
        holds_of_zero_leave_no_posting,
        renewed_leases_expire_later,
        a_clock_set_back_does_not_prolong_leases,
        at_most_a_thousand_leases_expire_at_once,
        two_handles_see_each_others_changes,
        sub_requests_and_their_parent_find_each_other;
    references:
        transfers_with_the_same_reference_are_posted_once,
        a_rejected_transfer_does_not_use_its_reference,
        concurrent_transfers_with_one_reference_are_posted_once;
    limits:
        rotated_keys_share_the_spend_limit,
        a_rate_limit_counts_free_and_paid_requests,
        rate_limits_survive_a_reopened_store,
        concurrency_limits_are_enforced,
        blocked_members_and_unknown_keys_get_no_hold,
        changed_limits_apply_immediately,
        concurrent_changes_of_different_limits_are_all_applied;
    budgets:
        a_key_budget_is_exact_and_resets,
        a_charge_counts_in_the_window_of_its_hold,
        a_member_budget_covers_all_keys,
        a_changed_key_budget_applies_immediately,
        a_clock_set_back_does_not_reset_a_budget,
        concurrent_requests_never_exceed_a_budget,
        a_wrong_budget_is_found;
    teams:
        a_team_pays_for_its_members,
        budgets_of_team_member_and_key_all_apply,
        running_holds_keep_the_account_that_pays,
        a_blocked_team_or_member_gets_no_hold,
        teams_are_created_joined_and_removed,
        usage_is_counted_for_the_team_that_paid,
        a_wrong_payer_is_found,
        concurrent_members_never_exceed_a_team,
        members_may_move_while_requests_run;
    idempotency:
        a_key_in_use_is_reported_as_running,
        a_key_with_another_body_is_rejected,
        an_answered_key_returns_the_saved_answer,
        a_key_is_reusable_after_a_release,
        a_key_is_reusable_after_a_day,
        keys_of_different_lineages_do_not_collide,
        concurrent_requests_with_one_key_open_one_hold;
    admin:
        members_are_created_found_and_changed,
        keys_are_created_found_changed_and_revoked,
        keys_of_all_members_are_found_in_pages,
        rotation_creates_a_key_and_shortens_the_old_one,
        unknown_ids_are_reported_as_missing,
        every_change_is_audited,
        a_setting_is_written_once,
        a_closed_store_rejects_operations;
    responses:
        responses_are_readable_only_by_their_member,
        a_response_is_stored_with_the_end_of_its_hold,
        ended_responses_are_not_updated,
        only_queued_responses_are_cancelled,
        response_events_are_paged_in_order,
        deleting_a_response_deletes_its_events,
        background_responses_fail_when_their_lease_expires,
        expired_responses_are_deleted,
        running_responses_without_a_hold_fail,
        at_most_a_thousand_of_each_kind_are_deleted_at_once;
    media:
        media_runs_are_stored_with_their_hold_and_readable_only_by_their_member,
        objects_are_reused_until_they_become_deletable,
        objects_become_deletable_after_their_last_run,
        unreferenced_objects_become_deletable_after_an_hour,
        concurrent_claims_of_one_digest_share_an_object;
    research:
        a_job_is_queued_only_together_with_its_hold,
        cancelling_is_charged_after_a_step_has_started,
        a_repeated_key_returns_the_same_job,
        the_limit_of_open_jobs_is_exact,
        a_completed_job_is_charged_once,
        writes_with_a_lost_claim_have_no_effect,
        a_clock_set_back_does_not_prolong_claims,
        a_clock_set_back_does_not_delay_queued_jobs,
        a_new_claim_continues_after_the_last_step,
        jobs_without_progress_fail_and_are_not_charged,
        released_jobs_can_be_claimed_at_once,
        failed_steps_are_retried_later,
        a_job_cancelled_while_running_ends_once,
        job_holds_do_not_expire,
        jobs_expire_at_their_deadline,
        jobs_of_a_member_are_paged,
        job_events_are_numbered_without_gaps,
        webhooks_are_retried_until_delivered,
        expired_jobs_are_deleted,
        concurrent_workers_never_share_a_job;
    ledger_check:
        an_intact_ledger_has_no_findings,
        every_damaged_figure_is_found,
        postings_and_receipts_must_agree,
        changed_audit_entries_are_found;
    sessions:
        sessions_are_found_listed_and_ended,
        too_many_sessions_replace_the_oldest,
        sessions_that_are_over_are_deleted;
    usage:
        usage_is_summed_up_by_every_dimension,
        days_are_separate,
        released_holds_are_not_usage_and_free_requests_are,
        excessive_token_counts_are_bounded,
        usage_is_limited_to_the_highest_charges,
        wrong_usage_is_found_and_rebuilt,
        concurrent_handles_count_every_request;
}
