//! `--store …`: each engine beside its own raw commands, and all of them side by side.

use std::path::Path;

use super::{bench, subject};
use crate::peers;
use crate::plan::{Bench, Kind, Place, Store};
use crate::suite::Suite;
use crate::target::Target;

const OURS: &str = "stanchion";

pub(crate) const SUITE: Suite = Suite {
    name: "stores",
    title: "Locks on every store",
    benches: |options, _| {
        let mut benches = Vec::new();
        for engine in ENGINES {
            benches.extend([1, 32].map(|tasks| engine.alone(tasks)));
            benches.extend(engine.contended());
        }
        benches.extend([1, 32].map(|tasks| redlock(tasks, options.peers.as_deref())));
        benches.extend(side_by_side());
        Ok(benches)
    },
};

/// An engine, its least commands, and what tells a waiter on it.
struct Engine {
    name: &'static str,
    store: Store,
    about: &'static str,
    raw: (&'static str, &'static str),
    hop: Option<(&'static str, &'static str)>,
    /// The engine's or the client's own lock, if it has one.
    own: Option<(&'static str, &'static str)>,
}

const ENGINES: [Engine; 6] = [
    Engine {
        name: "mysql",
        store: Store::Mysql,
        about: "MariaDB. Raw: one prepared UPDATE of a lease row that counts the fence up, and one that ends it, on a \
connection per task. The hand-off is compared with the server's own GET_LOCK, which has no lease and no fence.",
        raw: ("raw lease row", "mysql-lease"),
        hop: Some(("raw GET_LOCK", "mysql-get-lock")),
        own: None,
    },
    Engine {
        name: "etcd",
        store: Store::Etcd,
        about: "etcd with fsync. Raw: one transaction that creates the key under a lease if it is absent, and one delete, over \
the same gRPC library. A raw hop is a put that the other side's watch hears, and its own put.",
        raw: ("raw create + delete", "etcd-pair"),
        hop: Some(("raw put → watch → put", "etcd-hop")),
        own: Some(("etcd's own lock service", "etcd-lock-service")),
    },
    Engine {
        name: "zookeeper",
        store: Store::ZooKeeper,
        about: "ZooKeeper. Raw: create an ephemeral sequential node, list its parent, delete it, over the same library. A raw \
hop is a set that the other side's watch hears, the next watch, and its own set.",
        raw: ("raw create + list + delete", "zookeeper-line"),
        hop: Some(("raw set → watch → set", "zookeeper-hop")),
        own: Some(("zookeeper-client's own lock", "zookeeper-recipe")),
    },
    Engine {
        name: "consul",
        store: Store::Consul,
        about: "Consul, in memory. Raw: `acquire` and `release` of a key under one session, over the same HTTP library. A raw \
hop is a put that the other side's blocking query hears, and its own put.",
        raw: ("raw acquire + release", "consul-pair"),
        hop: Some(("raw put → query → put", "consul-hop")),
        own: None,
    },
    Engine {
        name: "nats",
        store: Store::Nats,
        about: "NATS JetStream. Raw: two updates of a KV entry, each with the revision of the one before, over the same \
library. A raw hop is a put that the other side's watch hears, and its own put.",
        raw: ("raw update + update", "nats-pair"),
        hop: Some(("raw put → watch → put", "nats-hop")),
        own: None,
    },
    Engine {
        name: "dynamodb",
        store: Store::DynamoDb,
        about: "dynalite, an emulator of DynamoDB: read the ratios, not the rates. Raw: two conditional UpdateItems, the first \
of which counts the fence up, over the same SDK. DynamoDB tells waiters nothing, so they ask again.",
        raw: ("raw UpdateItem + UpdateItem", "dynamodb-pair"),
        hop: None,
        own: None,
    },
];

impl Engine {
    fn place(&self) -> Place {
        Place::Store(self.store)
    }

    fn alone(&self, tasks: usize) -> Bench {
        let (label, worker) = self.raw;
        let mut subjects = vec![
            subject(label, worker, self.place()).tasks(tasks),
            subject(OURS, "stanchion", self.place()).setting("process").tasks(tasks).of(label),
        ];
        subjects.extend(self.own.map(|(own, worker)| subject(own, worker, self.place()).tasks(tasks).of(label)));
        let bench = bench(format!("{}-{tasks}", self.name), self.about, Kind::Rate, subjects);
        Bench { targets: vec![Target::RateOf { ours: OURS, limit: label, least: 0.8 }], ..bench }
    }

    fn contended(&self) -> Option<Bench> {
        let (label, worker) = self.hop?;
        let limit = subject(label, worker, self.place());
        // GET_LOCK is a lock and takes part as the others do; the hops are played by two.
        let limit = if self.store == Store::Mysql { limit.crowd() } else { limit.pair() };
        let mut subjects = vec![limit, subject(OURS, "stanchion", self.place()).setting("process").crowd().of(label)];
        subjects.extend(self.own.map(|(own, worker)| subject(own, worker, self.place()).crowd().of(label)));
        let bench = bench(format!("{}-contended", self.name), self.about, Kind::HandOff, subjects);
        Some(Bench { targets: vec![Target::Exclusive { ours: OURS }], ..bench })
    }
}

const NODES: &str = "Five Redis nodes. Raw: SET NX PX on all and compare-and-delete on all, going on with the first three answers, \
or with all five. The peers mint no fence. *stanchion* writes the highest fence back to a majority, which is a second round; with \
`fence=time` there is one.";

fn redlock(tasks: usize, folder: Option<&Path>) -> Bench {
    const RAW: &str = "raw, on at quorum";
    const TIME: &str = "stanchion, fence=time";
    let nodes = || Place::Store(Store::Redlock);
    let subjects = vec![
        subject(RAW, "redlock-nodes", nodes()).setting("quorum"),
        subject("raw, waits for all", "redlock-nodes", nodes()).setting("all").of(RAW),
        subject(TIME, "stanchion", Place::Store(Store::RedlockByTime)).setting("process").of(RAW),
        subject(OURS, "stanchion", nodes()).setting("process").of(RAW),
        subject(peers::RSLOCK, "rslock", nodes()).by(peers::rslock()).of(RAW),
        subject(peers::REDLOCK, "redlock", nodes()).by(peers::redlock(folder)).of(RAW),
        subject(peers::POTTERY, "pottery", nodes()).by(peers::pottery(folder)).of(RAW),
    ];
    let subjects = subjects.into_iter().map(|s| s.tasks(tasks)).collect();
    let bench = bench(format!("redlock-{tasks}"), NODES, Kind::Rate, subjects);
    let ahead = [peers::RSLOCK, peers::REDLOCK, peers::POTTERY].map(|peer| Target::Ahead { ours: TIME, peer });
    let shares = [(TIME, 0.85), (OURS, 0.45)].map(|(ours, least)| Target::RateOf { ours, limit: RAW, least });
    Bench { targets: shares.into_iter().chain(ahead).collect(), ..bench }
}

const ALL: &str = "Every store, the same program, one after the other in every round. The embedded ones and Redis answer from \
memory (`durability=process`), PostgreSQL, MariaDB and etcd force each commit to disk; dynalite is an emulator.";

/// All stores with their labels.
const STORES: [(&str, Store); 8] = [
    ("mysql:", Store::Mysql),
    ("etcd:", Store::Etcd),
    ("zookeeper:", Store::ZooKeeper),
    ("consul:", Store::Consul),
    ("nats:", Store::Nats),
    ("dynamodb: (emulator)", Store::DynamoDb),
    ("redlock: 5 nodes", Store::Redlock),
    ("redlock: 5 nodes, fence=time", Store::RedlockByTime),
];

fn side_by_side() -> Vec<Bench> {
    const REDIS: &str = "redis:";
    let all = || {
        let ours = |label, place: Place| subject(label, "stanchion", place).setting("process");
        let mut subjects = vec![
            ours(REDIS, Place::Redis),
            ours("file:", Place::Folder("file:", "")),
            ours("sqlite:", Place::Folder("sqlite:", "/store.db")),
            ours("sqlite:?locks=lease", Place::Folder("sqlite:", "/store.db?locks=lease")),
            ours("postgres:", Place::Postgres),
        ];
        subjects.extend(STORES.map(|(label, store)| ours(label, Place::Store(store))));
        subjects.into_iter().map(|s| if s.label == REDIS { s } else { s.of(REDIS) })
    };
    let alone = |tasks| {
        let subjects = all().map(|s| s.tasks(tasks)).collect();
        bench(format!("every-store-{tasks}"), ALL, Kind::Rate, subjects)
    };
    let crowd = bench("every-store-contended".to_owned(), ALL, Kind::HandOff, all().map(|s| s.crowd()).collect());
    vec![alone(1), alone(32), crowd]
}
