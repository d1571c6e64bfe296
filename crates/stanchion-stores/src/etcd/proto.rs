//! The messages of etcd's API that we use. Written by hand, because generating them would need `protoc` on every machine
//! that builds us; the numbers are those of etcd's public protocol.

/// A message whose fields are all optional on the wire.
macro_rules! messages {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field:meta])* $part:ident: $kind:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, ::prost::Message)]
        pub(super) struct $name { $($(#[$field])* pub(super) $part: $kind,)* }
    )*};
}

messages! {
    Header {
        #[prost(int64, tag = "3")] revision: i64,
        #[prost(uint64, tag = "2")] member: u64,
    }
    KeyValue {
        #[prost(bytes = "bytes", tag = "1")] key: bytes::Bytes,
        #[prost(int64, tag = "2")] create_revision: i64,
        #[prost(int64, tag = "3")] mod_revision: i64,
        #[prost(bytes = "bytes", tag = "5")] value: bytes::Bytes,
        #[prost(int64, tag = "6")] lease: i64,
    }
    Range {
        #[prost(bytes = "vec", tag = "1")] key: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")] range_end: Vec<u8>,
        #[prost(int64, tag = "3")] limit: i64,
        #[prost(bool, tag = "8")] keys_only: bool,
    }
    Ranged {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
        #[prost(message, repeated, tag = "2")] kvs: Vec<KeyValue>,
        #[prost(bool, tag = "3")] more: bool,
    }
    Put {
        #[prost(bytes = "vec", tag = "1")] key: Vec<u8>,
        #[prost(bytes = "bytes", tag = "2")] value: bytes::Bytes,
        #[prost(int64, tag = "3")] lease: i64,
        #[prost(bool, tag = "5")] ignore_value: bool,
    }
    Done {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
    }
    Delete {
        #[prost(bytes = "vec", tag = "1")] key: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")] range_end: Vec<u8>,
    }
    Deleted {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
        #[prost(int64, tag = "2")] deleted: i64,
    }
    Compare {
        #[prost(enumeration = "Relation", tag = "1")] relation: i32,
        #[prost(enumeration = "Target", tag = "2")] target: i32,
        #[prost(bytes = "vec", tag = "3")] key: Vec<u8>,
        #[prost(bytes = "vec", tag = "64")] range_end: Vec<u8>,
        #[prost(oneof = "Than", tags = "5, 6, 7")] than: Option<Than>,
    }
    Op {
        #[prost(oneof = "Ask", tags = "1, 2, 3, 4")] ask: Option<Ask>,
    }
    Txn {
        #[prost(message, repeated, tag = "1")] compare: Vec<Compare>,
        #[prost(message, repeated, tag = "2")] success: Vec<Op>,
        #[prost(message, repeated, tag = "3")] failure: Vec<Op>,
    }
    OpAnswer {
        #[prost(oneof = "Answer", tags = "1, 2, 3, 4")] answer: Option<Answer>,
    }
    TxnAnswer {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
        #[prost(bool, tag = "2")] succeeded: bool,
        #[prost(message, repeated, tag = "3")] responses: Vec<OpAnswer>,
    }
    /// Also the answer to a keep-alive; a ttl of 0 says that the lease is gone.
    Granted {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
        #[prost(int64, tag = "2")] id: i64,
        #[prost(int64, tag = "3")] ttl: i64,
    }
    LeaseGrant {
        #[prost(int64, tag = "1")] ttl: i64,
    }
    LeaseId {
        #[prost(int64, tag = "1")] id: i64,
    }
    Watch {
        #[prost(message, optional, tag = "1")] create: Option<WatchCreate>,
        #[prost(message, optional, tag = "2")] cancel: Option<WatchCancel>,
    }
    WatchCreate {
        #[prost(bytes = "vec", tag = "1")] key: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")] range_end: Vec<u8>,
        /// 0: puts are not told.
        #[prost(int32, repeated, tag = "5")] filters: Vec<i32>,
        #[prost(int64, tag = "7")] watch_id: i64,
    }
    WatchCancel {
        #[prost(int64, tag = "1")] watch_id: i64,
    }
    Watched {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
        #[prost(int64, tag = "2")] watch_id: i64,
        #[prost(bool, tag = "3")] created: bool,
        #[prost(bool, tag = "4")] canceled: bool,
        #[prost(message, repeated, tag = "11")] events: Vec<Event>,
    }
    Nothing {}
    /// Of a deleted name only the key and the revision are told.
    Event {
        #[prost(message, optional, tag = "2")] kv: Option<KeyValue>,
    }
    Login {
        #[prost(string, tag = "1")] name: String,
        #[prost(string, tag = "2")] password: String,
    }
    LoggedIn {
        #[prost(string, tag = "2")] token: String,
    }
    Status {
        #[prost(message, optional, tag = "1")] header: Option<Header>,
        #[prost(string, tag = "2")] version: String,
        #[prost(int64, tag = "3")] db_size: i64,
        #[prost(uint64, tag = "4")] leader: u64,
        #[prost(string, repeated, tag = "8")] errors: Vec<String>,
        #[prost(bool, tag = "10")] learner: bool,
    }
    Members {
        #[prost(message, repeated, tag = "2")] members: Vec<Member>,
    }
    Member {
        #[prost(uint64, tag = "1")] id: u64,
        #[prost(string, tag = "2")] name: String,
        #[prost(string, repeated, tag = "4")] client_urls: Vec<String>,
        #[prost(bool, tag = "5")] learner: bool,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ::prost::Enumeration)]
#[repr(i32)]
pub(super) enum Relation {
    Equal = 0,
    Greater = 1,
    Less = 2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ::prost::Enumeration)]
#[repr(i32)]
pub(super) enum Target {
    Version = 0,
    Create = 1,
    Mod = 2,
    Value = 3,
}

#[derive(Clone, PartialEq, Eq, ::prost::Oneof)]
pub(super) enum Than {
    #[prost(int64, tag = "5")]
    Create(i64),
    #[prost(int64, tag = "6")]
    Mod(i64),
    #[prost(bytes, tag = "7")]
    Value(Vec<u8>),
}

#[derive(Clone, PartialEq, Eq, ::prost::Oneof)]
pub(super) enum Ask {
    #[prost(message, tag = "1")]
    Range(Range),
    #[prost(message, tag = "2")]
    Put(Put),
    #[prost(message, tag = "3")]
    Delete(Delete),
    #[prost(message, tag = "4")]
    Txn(Txn),
}

#[derive(Clone, PartialEq, Eq, ::prost::Oneof)]
pub(super) enum Answer {
    #[prost(message, tag = "1")]
    Range(Ranged),
    #[prost(message, tag = "2")]
    Put(Done),
    #[prost(message, tag = "3")]
    Delete(Deleted),
    #[prost(message, tag = "4")]
    Txn(TxnAnswer),
}
