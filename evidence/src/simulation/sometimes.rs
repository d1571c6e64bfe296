//! What has to happen now and then: a run in which one of these never did has shown nothing.

macro_rules! sometimes {
    ($($(#[doc = $about:literal])+ $name:ident,)+) => {
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Sometimes {
            $($(#[doc = $about])+ pub $name: u64,)+
        }

        impl Sometimes {
            pub(super) fn add(&mut self, other: &Sometimes) {
                $(self.$name += other.$name;)+
            }

            /// Names and numbers.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

sometimes! {
    /// A store refused the token of a holder that was not the newest.
    stale_holder_fenced,
    /// A grant came when nobody waited for it any more.
    late_grant,
    /// A request was served, and its answer lost.
    reply_lost_after_commit,
    /// A fail-over forgot what had been acknowledged.
    replica_lost_a_write,
    /// A holder was killed.
    holder_died,
    /// The lock of one that did not give it back went to another.
    takeover,
    /// A holder was told that its lease is over.
    lost_signal,
    /// The outcome of an operation was reported as not known.
    indeterminate,
    /// Five nodes were asked, and fewer than all granted.
    granted_by_a_part,
    /// Too few of five nodes answered in time.
    quorum_missed,
    /// A node that had restarted was not counted.
    node_without_vote,
    /// Nodes disagreed about the fence, and were told.
    fence_written_back,
    /// A write arrived twice, and changed nothing the second time.
    write_applied_again,
    /// A repeated call was answered from its record.
    call_replayed,
    /// A call found another attempt at work.
    call_in_flight,
    /// The claim of one that fell silent became unknown.
    call_lapsed,
    /// A claim under which nothing was sent was taken over.
    claim_taken_over,
    /// A call's end was recorded although its answer had been lost before.
    recorded_late,
    /// A beginning whose answer was lost was taken back.
    beginning_taken_back,
}
