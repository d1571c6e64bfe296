//! tonic without our lock: create-if-absent and delete under a lease, etcd's own lock service, and a hop over a watch.
//!
//! The messages are the fields of etcd's interface that are needed here, and no others.

use prost::Message;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

use super::address;
use super::hop::{Player, play};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

#[derive(Clone, PartialEq, Message)]
struct Put {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
    #[prost(int64, tag = "3")]
    lease: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Delete {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Deleted {
    #[prost(int64, tag = "2")]
    deleted: i64,
}

/// The key's create revision equals zero: it is not there. Result, target and value are zero, the defaults but one.
#[derive(Clone, PartialEq, Message)]
struct Absent {
    #[prost(int32, tag = "2")]
    target: i32,
    #[prost(bytes = "vec", tag = "3")]
    key: Vec<u8>,
    #[prost(int64, optional, tag = "5")]
    create_revision: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Step {
    #[prost(message, optional, tag = "2")]
    put: Option<Put>,
}

#[derive(Clone, PartialEq, Message)]
struct Txn {
    #[prost(message, repeated, tag = "1")]
    compare: Vec<Absent>,
    #[prost(message, repeated, tag = "2")]
    success: Vec<Step>,
}

#[derive(Clone, PartialEq, Message)]
struct TxnDone {
    #[prost(bool, tag = "2")]
    succeeded: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Grant {
    #[prost(int64, tag = "1")]
    ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Granted {
    #[prost(int64, tag = "2")]
    id: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Lock {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    lease: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Locked {
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Nothing {}

#[derive(Clone, PartialEq, Message)]
struct Create {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Watch {
    #[prost(message, optional, tag = "1")]
    create: Option<Create>,
}

#[derive(Clone, PartialEq, Message)]
struct Watched {
    #[prost(bool, tag = "3")]
    created: bool,
}

const TXN: &str = "/etcdserverpb.KV/Txn";
const PUT: &str = "/etcdserverpb.KV/Put";
const DELETE: &str = "/etcdserverpb.KV/DeleteRange";

#[derive(Clone)]
struct Server {
    channel: Channel,
    lease: i64,
}

impl Server {
    async fn connect(job: &Job) -> Outcome<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{}", address(job)?))?.tcp_nodelay(true);
        let server = Self { channel: endpoint.connect().await?, lease: 0 };
        let granted: Granted = server.ask("/etcdserverpb.Lease/LeaseGrant", Grant { ttl: 120 }).await?;
        Ok(Self { lease: granted.id, ..server })
    }

    async fn ask<A: Message + 'static, B: Message + Default + 'static>(
        &self,
        path: &'static str,
        ask: A,
    ) -> Outcome<B> {
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await?;
        let path = PathAndQuery::from_static(path);
        Ok(grpc.unary(Request::new(ask), path, ProstCodec::<A, B>::default()).await?.into_inner())
    }
}

struct Pair {
    server: Server,
    key: Vec<u8>,
}

impl Client for Pair {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        const CREATE: i32 = 1;
        let (key, lease) = (self.key.clone(), self.server.lease);
        let compare = vec![Absent { target: CREATE, key: key.clone(), create_revision: Some(0) }];
        let success = vec![Step { put: Some(Put { key, value: b"owner".to_vec(), lease }) }];
        let done: TxnDone = self.server.ask(TXN, Txn { compare, success }).await?;
        if done.succeeded { Ok(()) } else { Err("it was taken".into()) }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        let done: Deleted = self.server.ask(DELETE, Delete { key: self.key.clone() }).await?;
        if done.deleted == 1 { Ok(()) } else { Err("it was not there".into()) }
    }
}

pub(super) fn pair(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let server = Server::connect(job).await?;
        let client = |task| Pair { server: server.clone(), key: job.key_of(task).into_bytes() };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}

/// etcd's own lock service. A lease for each task: one lease can hold a name only once.
struct Service {
    server: Server,
    name: Vec<u8>,
}

impl Client for Service {
    type Held = Vec<u8>;

    async fn take(&mut self) -> Outcome<Vec<u8>> {
        let lock = Lock { name: self.name.clone(), lease: self.server.lease };
        let locked: Locked = self.server.ask("/v3lockpb.Lock/Lock", lock).await?;
        Ok(locked.key)
    }

    async fn give(&mut self, key: Vec<u8>) -> Outcome {
        let _: Nothing = self.server.ask("/v3lockpb.Lock/Unlock", Delete { key }).await?;
        Ok(())
    }
}

pub(super) fn service(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            clients.push(Service { server: Server::connect(job).await?, name: job.key_of(task).into_bytes() });
        }
        run_tasks(job, clients).await
    })
}

struct Hop {
    server: Server,
    events: Streaming<Watched>,
    key: Vec<u8>,
    other: Vec<u8>,
}

impl Hop {
    async fn put(&self, key: &[u8]) -> Outcome {
        let put = Put { key: key.to_vec(), value: b"next".to_vec(), lease: 0 };
        let _: Nothing = self.server.ask(PUT, put).await?;
        Ok(())
    }
}

impl Player for Hop {
    async fn call(&mut self) -> Outcome {
        self.put(&self.other).await
    }

    async fn hear(&mut self) -> Outcome {
        self.events.message().await?.map(drop).ok_or_else(|| "the watch ended".into())
    }

    async fn write(&mut self) -> Outcome {
        self.put(&self.key).await
    }
}

pub(super) fn hop(job: &Job) -> Outcome<Tally> {
    use futures_util::StreamExt as _;
    on_runtime(async {
        let server = Server::connect(job).await?;
        let [ear, other] = [job.process, 1 - job.process].map(|p| format!("{}-ear-{p}", job.key).into_bytes());
        let first = futures_util::stream::iter([Watch { create: Some(Create { key: ear }) }]);
        let asked = first.chain(futures_util::stream::pending());
        let mut grpc = Grpc::new(server.channel.clone());
        grpc.ready().await?;
        let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
        let codec = ProstCodec::<Watch, Watched>::default();
        let mut events = grpc.streaming(Request::new(asked), path, codec).await?.into_inner();
        match events.message().await? {
            Some(Watched { created: true }) => {}
            other => return Err(format!("no watch: {other:?}").into()),
        }
        play(job, Hop { server, events, key: job.key.clone().into_bytes(), other }).await
    })
}
