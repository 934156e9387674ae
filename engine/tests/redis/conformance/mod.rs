//! What any shared store must do: the same cases for the store in memory, a single Redis and a cluster of three masters.

mod faces;
mod leases;
mod outlooks;
mod rooms;
mod sessions;
mod stage;
mod words;

/// Plays each case on every ground.
macro_rules! cases {
    ($($room:ident: $($name:ident),* $(,)?;)*) => {
        mod memory {
            $($(#[tokio::test]
            async fn $name() {
                super::$room::$name(&super::stage::Stage::memory()).await;
            })*)*
        }
        mod single {
            $($(#[tokio::test]
            async fn $name() {
                super::$room::$name(&super::stage::Stage::single()).await;
            })*)*
        }
        mod cluster {
            $($(#[tokio::test]
            async fn $name() {
                super::$room::$name(&super::stage::Stage::cluster()).await;
            })*)*
        }
    };
}

cases! {
    sessions:
        a_session_that_connects_is_held_and_shows,
        the_later_connect_takes_over_and_the_earlier_has_no_effect_any_more,
        an_earlier_connect_told_late_does_not_take_over,
        an_end_closes_what_was_held_of_an_earlier_connect,
        an_earlier_connect_of_an_ended_session_is_not_held,
        a_connect_that_was_ended_is_held_again_if_it_lives_after_all,
        whose_lease_ran_out_meanwhile_is_over,
        a_user_has_so_many_sessions_and_no_more,
        passive_sessions_do_not_count,
        who_counts_no_more_was_seen_when_it_was_heard_last,
        what_was_heard_before_a_passive_connect_counts_however_late_it_is_told,
        own_sessions_are_told,
        a_session_is_signed_out_at_its_node,
        what_has_connected_since_is_not_signed_out,
        each_session_is_found_at_its_node,
        many_that_end_at_a_time_are_each_told_once;
    words:
        a_mode_reaches_all_sessions_and_outlives_them,
        a_repeated_mode_does_not_beat_a_choice,
        what_was_said_earlier_and_told_later_does_not_count,
        words_of_a_connect_that_was_taken_over_have_no_effect,
        a_note_shows_while_the_user_is_there,
        a_wish_is_told_and_counted,
        a_revoked_account_ends_everywhere_in_one_change,
        what_ended_after_a_revocation_is_of_nobody;
    faces:
        idle_and_active_sessions_are_merged,
        each_change_is_one_version,
        who_is_invisible_has_two_faces,
        nobody_else_is_told,
        who_lets_go_of_all_is_told_of_nothing,
        those_who_are_present_are_listed,
        notices_are_counted_without_a_gap,
        watchers_are_counted_over_all_nodes;
    outlooks:
        a_block_stands_between_two,
        a_lost_block_is_restored_unless_something_newer_was_said,
        each_change_of_what_stands_between_has_a_higher_number,
        an_application_s_change_reaches_every_node_once;
    rooms:
        a_room_tells_who_is_there,
        who_is_invisible_is_in_no_room,
        a_room_registered_again_is_the_same,
        who_is_in_no_others_has_left_them,
        a_crowd_is_counted_at_a_bounded_rate,
        a_session_is_in_so_many_rooms_wherever_it_has_been;
    leases:
        who_lingers_ends_then_and_not_sooner,
        who_comes_back_in_time_never_left,
        who_is_silent_ends_at_a_deadline_of_its_own,
        who_is_heard_again_is_covered_again,
        a_node_s_beats_cover_its_sessions_and_end_with_it,
        behind_a_gap_the_second_beat_covers_but_not_who_was_silent,
        what_goes_by_a_dead_node_s_lease_ends_by_it_however_late,
        a_node_that_was_taken_for_dead_covers_again_and_dies_again,
        a_node_that_was_silent_for_long_sees_that_it_was_forgotten,
        sessions_of_one_user_end_in_one_change,
        whoever_sweeps_each_end_is_told_once,
        after_an_outage_nobody_is_swept_for_one_ttl,
        a_store_that_lost_what_it_held_begins_another_epoch;
}
