//! Everything that is on its way: events of the queue, and messages.

use stanchion_core::FencingToken;

/// An event. Small, because the queue moves it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A message reaches the place it was sent to.
    Arrive { message: u32 },
    /// A client's own clock rings. `life` and `number` tell a stale one.
    Ring { client: u8, timer: Timer, number: u32 },
    /// Something goes wrong.
    Fault,
    /// The replica has what the primary has.
    Replicate,
    /// What went wrong is over.
    Heal { fault: u8, place: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The next operation, or the next try of this one.
    Go,
    /// No answer to the request of this number.
    Patience,
    /// The lease wants to be looked at.
    Keeper,
    /// No answer to the renewal of this number.
    KeeperPatience,
    /// The process starts again.
    Restart,
}

/// Who sends and receives: clients from 0, engine nodes from [`NODES`], then the protected store and the tool.
pub(super) type Place = u8;
pub(super) const CLIENTS_MAX: u8 = 12;
pub(super) const NODES: Place = 16;
pub(super) const NODES_MAX: u8 = 5;
pub(super) const VAULT: Place = 24;
pub(super) const TOOL: Place = 25;

/// What a protected record holds: which operations are in it, and how often one was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) has: [u64; 4],
    pub(super) count: u32,
}

/// As many operations as fit into one [`Value`].
pub(super) const OPERATIONS_MAX: u16 = 256;

impl Value {
    pub(super) fn with(mut self, operation: u16) -> Value {
        self.has[usize::from(operation / 64)] |= 1 << (operation % 64);
        self.count += 1;
        self
    }

    pub(super) fn contains(&self, operation: u16) -> bool {
        self.has[usize::from(operation / 64)] >> (operation % 64) & 1 == 1
    }
}

/// What must be true for a protected write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Ours: this token was the last to touch.
    FirstTouch,
    /// The textbook's: no higher token was accepted by a write. A control.
    WriteOnly,
    /// Nothing. A control.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// `session`: the etcd lease or the connection that carries it.
    Acquire {
        key: u8,
        owner: u64,
        floor: u64,
        session: u32,
    },
    Renew {
        key: u8,
        owner: u64,
        session: u32,
    },
    Release {
        key: u8,
        owner: u64,
    },
    /// The end of a connection, as the engine sees it.
    HangUp {
        session: u32,
    },
    /// Of Redlock: like `Acquire` with the number that the caller would like.
    Take {
        key: u8,
        owner: u64,
        number: u64,
    },
    Write {
        key: u8,
        owner: u64,
        number: u64,
    },
    Touch {
        key: u8,
        token: FencingToken,
        check: Check,
    },
    Put {
        key: u8,
        token: FencingToken,
        check: Check,
        based_on: u32,
        operation: u16,
        value: Value,
    },
    Read {
        call: u8,
    },
    Swap {
        call: u8,
        expect: u32,
        claim: u32,
    },
    Forget {
        call: u8,
    },
    Effect {
        call: u8,
        another_payload: bool,
    },

    Granted {
        number: u64,
        owner: u64,
        key: u8,
    },
    Busy,
    Ours(bool),
    Touched {
        value: Value,
        version: u32,
    },
    Refused {
        floor: u64,
    },
    Stored,
    Found {
        claim: u32,
        version: u32,
        age: u32,
    },
    Swapped {
        version: u32,
    },
    Effected {
        answer: u16,
        kind: u8,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) from: Place,
    pub(super) to: Place,
    /// Nobody waits for its answer: a copy that the network made.
    pub(super) copy: bool,
    /// The life of the client that asks, or is answered.
    pub(super) life: u16,
    /// The request, so that its answer is known by it.
    pub(super) request: u32,
    /// Which life of the node answers, and for how long it has lived.
    pub(super) run: u32,
    pub(super) uptime: u64,
    pub(super) body: Body,
}

/// Messages on their way, in places that are used again.
#[derive(Debug, Default)]
pub(super) struct Post {
    messages: Vec<Message>,
    free: Vec<u32>,
}

impl Post {
    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.free.clear();
    }

    pub(super) fn put(&mut self, message: Message) -> u32 {
        if let Some(at) = self.free.pop() {
            self.messages[at as usize] = message;
            return at;
        }
        self.messages.push(message);
        u32::try_from(self.messages.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn take(&mut self, at: u32) -> Message {
        self.free.push(at);
        self.messages[at as usize]
    }

    pub(super) fn look(&self, at: u32) -> &Message {
        &self.messages[at as usize]
    }
}
