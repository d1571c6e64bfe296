//! What `stanchion serve` promises across instances, on every store: two processes that share nothing but the store,
//! with the ledger behind each as a command and at an address. Every promise has a control that breaks without it.

mod away;
mod fence;
mod killed;
mod lost_reply;
mod many;
mod site;

use stanchion_testkit::engines::{Postgres, Redis};

use self::site::Site;

/// An engine with these options, or a visible skip where it cannot exist. Both are made as durable as a store must be
/// that is trusted with calls which must not be repeated.
macro_rules! start_or_skip {
    ($options:expr) => {
        match $options.try_start().await {
            Ok(engine) => engine,
            Err(skip) => return skip.report(),
        }
    };
}
use start_or_skip;

/// The same scenarios on each store; the engines are real.
macro_rules! on_every_store {
    ($($file:ident::$scenario:ident)*) => {
        mod sqlite {
            use super::*;
            $(#[test]
            fn $scenario() {
                $file::$scenario(&Site::embedded());
            })*
        }

        mod redis {
            use super::*;
            $(#[tokio::test]
            async fn $scenario() {
                let engine = start_or_skip!(Redis::options().aof(true));
                $file::$scenario(&Site::on(engine.url()));
            })*
        }

        mod postgres {
            use super::*;
            $(#[tokio::test]
            async fn $scenario() {
                let engine = start_or_skip!(Postgres::options().fsync(true));
                $file::$scenario(&Site::on(engine.url()));
            })*
        }
    };
}

on_every_store! {
    lost_reply::a_lost_reply_is_told_by_the_other_instance
    lost_reply::an_answer_that_nobody_read_outlives_its_instance
    killed::a_call_of_a_killed_instance_is_never_repeated_and_can_be_settled
    killed::a_call_of_a_killed_server_is_never_repeated_and_others_go_on
    killed::a_stopped_instance_comes_back_and_all_say_the_same
    killed::the_lock_of_a_killed_instance_is_free_again
    many::a_hundred_calls_with_one_key_through_both_instances_are_one
    many::tenants_with_the_same_key_never_see_each_others_answers
    many::a_lock_is_one_lock_for_both_instances
    fence::the_fence_arrives_and_grows
}
