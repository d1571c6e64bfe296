//! The items. Two published lists, for servers with shared state and for locks, are merged where they ask the same; what the
//! rules find beyond them is added.

use serde::Serialize;

use super::Subject;

/// Where an item comes from.
///
/// ```
/// use stanchion_audit::checklist::{ITEMS, List};
/// assert!(ITEMS.iter().any(|item| item.lists.contains(&List::Locks)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// Before a server with shared state is deployed.
    SharedState,
    /// Before a distributed lock is deployed.
    Locks,
    /// Ours.
    Added,
}

/// One question.
///
/// ```
/// use stanchion_audit::checklist::ITEMS;
/// let item = ITEMS.iter().find(|item| item.id == "lock-expires").unwrap();
/// assert_eq!(item.codes, ["RC203"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// By which it is known; never changes.
    pub id: &'static str,
    /// What has to be so.
    pub question: &'static str,
    /// Where it comes from.
    pub lists: &'static [List],
    /// Findings with one of these codes say no.
    pub codes: &'static [&'static str],
    /// What the analysis must have met before it can say yes; any of these.
    #[serde(skip)]
    pub about: &'static [Subject],
    /// Without a finding only a person can say yes.
    pub by_hand: bool,
    /// For a person: how to find out.
    pub hint: &'static str,
    /// More than one instance makes it urgent, so that fact is shown.
    #[serde(skip)]
    pub depends_on_instances: bool,
}

const EMPTY: Item = Item {
    id: "",
    question: "",
    lists: &[List::Added],
    codes: &[],
    about: &[],
    by_hand: false,
    hint: "",
    depends_on_instances: false,
};

/// All items, in the order in which they are printed.
///
/// ```
/// assert!(stanchion_audit::checklist::ITEMS.len() >= 15);
/// ```
pub const ITEMS: &[Item] = &[
    Item {
        id: "guarded-updates",
        question: "What is read, changed and written back is guarded by a version check or by one lock around both.",
        lists: &[List::SharedState],
        codes: &["RC101", "RC102", "RC103", "RC104", "RC105", "RC106", "RC107", "RC108"],
        about: &[Subject::State],
        depends_on_instances: true,
        ..EMPTY
    },
    Item {
        id: "lock-scope",
        question: "Each lock reaches as far as what it protects: across all instances, and the same lock for all callers.",
        lists: &[List::SharedState],
        codes: &["RC201", "RC206", "RC207"],
        about: &[Subject::Lock],
        depends_on_instances: true,
        ..EMPTY
    },
    Item {
        id: "lock-expires",
        question: "A lock ends by itself if its holder dies.",
        lists: &[List::Locks],
        codes: &["RC203"],
        about: &[Subject::Lease],
        ..EMPTY
    },
    Item {
        id: "owner-only",
        question: "Only the holder can release or renew a lock, compared and done in one step.",
        lists: &[List::SharedState, List::Locks],
        codes: &["RC202", "RC204", "RC208"],
        about: &[Subject::Lease],
        ..EMPTY
    },
    Item {
        id: "lock-released",
        question: "Every way out of a critical section releases the lock, on the connection that took it.",
        codes: &["RC205", "RC210", "RC211"],
        about: &[Subject::Lock],
        ..EMPTY
    },
    Item {
        id: "lock-time",
        question: "Locks last well beyond the slowest critical section (three times its 99th percentile), or are renewed.",
        lists: &[List::SharedState, List::Locks],
        by_hand: true,
        hint: "Measure the critical sections under load and compare with the lock's time.",
        ..EMPTY
    },
    Item {
        id: "fencing",
        question: "Where a late write would do harm, the store itself refuses writes of an earlier holder.",
        lists: &[List::Locks],
        by_hand: true,
        hint: "Follow the lock's token to the write: is it compared where the data is kept?",
        ..EMPTY
    },
    Item {
        id: "lock-service-down",
        question: "When the lock service is down, work waits or is refused; it does not go on without the lock.",
        lists: &[List::Locks],
        codes: &["RC209"],
        by_hand: true,
        hint: "Stop the lock service in a test system and watch what callers see.",
        ..EMPTY
    },
    Item {
        id: "lock-failover",
        question: "Losing one lock server cannot give the lock to two holders, where that matters.",
        lists: &[List::SharedState],
        by_hand: true,
        hint: "A single server with replicas can forget a lock when it fails over; a quorum or fencing does not rely on it.",
        ..EMPTY
    },
    Item {
        id: "effect-keys",
        question: "An effect outside that may be tried again carries a key by which the other side knows it.",
        lists: &[List::SharedState],
        codes: &["RC402"],
        by_hand: true,
        hint: "Callers repeat calls too: follow each effect back to a key that its caller gave.",
        ..EMPTY
    },
    Item {
        id: "key-first",
        question: "The key is reserved in one step before the effect happens, not looked up before and stored after.",
        lists: &[List::SharedState],
        codes: &["RC401"],
        about: &[Subject::Key],
        depends_on_instances: true,
        ..EMPTY
    },
    Item {
        id: "key-after-failure",
        question: "A failure that is certain frees the key; after a timeout, whose outcome nobody knows, the key stays.",
        lists: &[List::SharedState],
        codes: &["RC404"],
        about: &[Subject::Key],
        ..EMPTY
    },
    Item {
        id: "key-age",
        question: "Old keys are removed, and later than the last possible retry.",
        lists: &[List::SharedState],
        codes: &["RC405"],
        by_hand: true,
        hint: "Find the job that removes keys; compare its age with the longest retry of any caller.",
        ..EMPTY
    },
    Item {
        id: "retry-pace",
        question: "Retries wait longer each time, and not all callers equally long.",
        lists: &[List::Locks],
        codes: &["RC403"],
        about: &[Subject::Retry],
        ..EMPTY
    },
    Item {
        id: "files",
        question: "Files are created in one step, replaced as a whole under a name of their own, and an unreadable one is no empty one.",
        codes: &["RC301", "RC302", "RC303", "RC304"],
        about: &[Subject::File],
        depends_on_instances: true,
        ..EMPTY
    },
    Item {
        id: "timers",
        question: "Work by the clock runs in one instance at a time.",
        codes: &["RC406"],
        about: &[Subject::Timer],
        depends_on_instances: true,
        ..EMPTY
    },
    Item {
        id: "hints",
        question: "What MCP tools say about themselves (read-only, idempotent) is what they do.",
        codes: &["RC407"],
        about: &[Subject::Hint],
        ..EMPTY
    },
    Item {
        id: "race-tests",
        question: "Tests widen the gap between read and write so that races show, and they run on every change.",
        lists: &[List::SharedState],
        by_hand: true,
        hint: "Take a probe of a finding, run it with the race tester, and keep it in the build.",
        ..EMPTY
    },
    Item {
        id: "metrics",
        question: "How long callers wait for locks, and how often in vain, is measured and raises an alarm.",
        lists: &[List::Locks],
        by_hand: true,
        hint: "Look for counters of acquired and refused locks, and for a rule that alarms on them.",
        ..EMPTY
    },
];
