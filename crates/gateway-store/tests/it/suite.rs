//! What holds on every database: each test runs on SQLite and on PostgreSQL.

mod admin;
mod books;
mod limits;
mod media;
mod money;
mod references;
mod repeats;
pub(crate) mod research;
pub(crate) mod responses;

macro_rules! suite {
    ($($module:ident: $($test:ident),* $(,)?;)*) => {
        mod on_sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    super::$module::$test(crate::world::World::sqlite().await).await;
                }
            )*)*
        }
        mod on_postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    super::$module::$test(crate::world::World::postgres().await).await;
                }
            )*)*
        }
    };
}

suite! {
    money:
        a_settled_hold_is_charged_and_a_released_one_is_not,
        a_hold_ends_once_whoever_tries,
        every_runtime_is_answered_and_may_go,
        only_its_member_ends_a_hold,
        a_thousand_race_a_balance_that_covers_137,
        many_members_at_once_stay_apart,
        top_ups_and_corrections_are_posted_and_audited,
        what_is_held_cannot_be_corrected_away,
        a_statement_is_read_in_pages,
        usage_counts_charged_requests,
        free_requests_are_held_and_leave_no_posting,
        leases_are_renewed_and_end,
        a_clock_set_back_does_not_prolong_leases,
        many_leases_end_a_thousand_at_a_time,
        two_handles_share_one_truth;
    references:
        a_transfer_with_a_reference_is_posted_once,
        a_refused_transfer_leaves_its_reference_free,
        a_hundred_with_one_reference_pay_in_once;
    limits:
        a_spend_limit_follows_rotation,
        a_rate_limit_counts_free_and_paid_requests,
        a_rate_is_not_forgotten_by_a_new_handle,
        no_more_run_at_once_than_may,
        blocked_members_and_unknown_keys_get_no_hold,
        changed_limits_count_at_once,
        changes_of_different_limits_at_once_are_all_made;
    repeats:
        a_word_that_runs_is_told_so,
        a_word_with_another_body_is_refused,
        an_answered_word_gives_its_answer,
        a_word_is_free_again_after_a_release,
        a_word_is_free_again_after_a_day,
        a_word_belongs_to_its_lineage,
        a_hundred_with_one_word_get_one_hold;
    admin:
        members_are_made_found_and_changed,
        keys_are_made_found_changed_and_revoked,
        rotation_makes_a_key_and_ends_the_old_one,
        what_does_not_exist_is_missing,
        every_change_is_in_the_audit_log,
        a_setting_is_written_once,
        a_closed_store_says_so;
    responses:
        a_stored_response_is_read_by_its_member_alone,
        a_response_is_stored_with_the_end_of_its_hold,
        a_response_that_ended_is_not_overwritten,
        only_a_queued_response_is_cancelled_in_the_queue,
        events_are_read_in_order_and_in_pages,
        a_deleted_response_takes_its_events_along,
        background_responses_fail_with_their_lease,
        old_responses_are_swept,
        responses_that_run_without_a_hold_are_failed_by_a_sweep,
        a_sweep_takes_a_thousand_of_each_kind;
    media:
        a_run_is_written_with_the_end_of_its_hold_and_read_by_its_member_alone,
        an_object_is_claimed_again_until_it_is_doomed,
        objects_go_when_their_last_run_is_over,
        an_object_nobody_came_for_goes_after_an_hour,
        a_hundred_claims_of_one_digest_give_one_object;
    research:
        a_job_is_queued_with_its_hold_or_not_at_all,
        cancelling_costs_once_a_step_has_begun,
        a_job_with_a_word_is_given_again,
        open_jobs_of_a_member_are_limited_exactly,
        a_job_goes_from_queued_to_completed_and_is_charged_once,
        a_worker_that_lost_its_claim_writes_nothing,
        a_clock_set_back_does_not_prolong_claims,
        a_clock_set_back_does_not_delay_queued_jobs,
        a_claim_after_a_crash_goes_on_behind_the_last_step,
        tries_without_a_step_are_limited_and_refunded,
        a_job_that_is_given_back_is_free_at_once,
        a_failed_step_is_tried_later,
        a_job_that_is_cancelled_while_it_runs_ends_once,
        the_hold_of_a_job_outlives_every_lease,
        a_late_job_expires,
        jobs_are_listed_in_pages_of_their_member,
        events_are_numbered_without_gaps,
        ends_are_told_and_told_again,
        jobs_are_forgotten_after_their_time,
        no_two_workers_have_one_job;
    books:
        an_untouched_ledger_adds_up,
        each_damaged_figure_is_found,
        postings_and_receipts_must_agree,
        a_changed_audit_entry_is_found;
}
