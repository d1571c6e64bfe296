//! Transactions in a few words: what must hold, what happens then, what happens else.

use bytes::Bytes;

use super::proto::{
    Answer, Ask, Compare, Delete, KeyValue, Op, OpAnswer, Put, Range, Relation, Target, Than, Txn, TxnAnswer,
};

impl Compare {
    fn new(key: &[u8], relation: Relation, target: Target, than: Than) -> Self {
        let (relation, target) = (relation.into(), target.into());
        Self { relation, target, key: key.to_vec(), range_end: Vec::new(), than: Some(than) }
    }

    pub(super) fn absent(key: &[u8]) -> Self {
        Self::new(key, Relation::Equal, Target::Create, Than::Create(0))
    }

    pub(super) fn present(key: &[u8]) -> Self {
        Self::new(key, Relation::Greater, Target::Create, Than::Create(0))
    }

    pub(super) fn created_at(key: &[u8], revision: i64) -> Self {
        Self::new(key, Relation::Equal, Target::Create, Than::Create(revision))
    }

    pub(super) fn written_at(key: &[u8], revision: i64) -> Self {
        Self::new(key, Relation::Equal, Target::Mod, Than::Mod(revision))
    }

    pub(super) fn value_is(key: &[u8], value: Vec<u8>) -> Self {
        Self::new(key, Relation::Equal, Target::Value, Than::Value(value))
    }

    /// False for a key that is absent.
    pub(super) fn value_below(key: &[u8], value: Vec<u8>) -> Self {
        Self::new(key, Relation::Less, Target::Value, Than::Value(value))
    }

    /// Nothing from `key` to `end` was written after `revision`; revision 0 says that nothing is there. What has been
    /// deleted is not seen.
    pub(super) fn quiet_since(key: &[u8], end: &[u8], revision: i64) -> Self {
        let compare = Self::new(key, Relation::Less, Target::Mod, Than::Mod(revision + 1));
        Self { range_end: end.to_vec(), ..compare }
    }
}

impl Range {
    pub(super) fn one(key: &[u8]) -> Self {
        Self { key: key.to_vec(), ..Self::default() }
    }

    pub(super) fn between(key: &[u8], end: &[u8]) -> Self {
        Self { range_end: end.to_vec(), ..Self::one(key) }
    }
}

impl From<Range> for Op {
    fn from(range: Range) -> Self {
        Self { ask: Some(Ask::Range(range)) }
    }
}

impl From<Txn> for Op {
    fn from(txn: Txn) -> Self {
        Self { ask: Some(Ask::Txn(txn)) }
    }
}

impl Op {
    pub(super) fn read(key: &[u8]) -> Self {
        Range::one(key).into()
    }

    pub(super) fn put(key: &[u8], value: impl Into<Bytes>, lease: i64) -> Self {
        let put = Put { key: key.to_vec(), value: value.into(), lease, ignore_value: false };
        Self { ask: Some(Ask::Put(put)) }
    }

    /// The same value under another lease.
    pub(super) fn rebind(key: &[u8], lease: i64) -> Self {
        let put = Put { key: key.to_vec(), lease, ignore_value: true, ..Put::default() };
        Self { ask: Some(Ask::Put(put)) }
    }

    pub(super) fn delete(key: &[u8]) -> Self {
        Self { ask: Some(Ask::Delete(Delete { key: key.to_vec(), range_end: Vec::new() })) }
    }
}

impl Txn {
    pub(super) fn when(compare: Vec<Compare>, success: Vec<Op>, failure: Vec<Op>) -> Self {
        Self { compare, success, failure }
    }

    /// Whatever is.
    pub(super) fn always(success: Vec<Op>) -> Self {
        Self::when(Vec::new(), success, Vec::new())
    }
}

impl TxnAnswer {
    pub(super) fn revision(&self) -> i64 {
        self.header.as_ref().map_or(0, |header| header.revision)
    }

    /// What the operation at this place has read.
    pub(super) fn kvs(&mut self, at: usize) -> Vec<KeyValue> {
        match self.responses.get_mut(at) {
            Some(OpAnswer { answer: Some(Answer::Range(ranged)) }) => std::mem::take(&mut ranged.kvs),
            _ => Vec::new(),
        }
    }

    pub(super) fn kv(&mut self, at: usize) -> Option<KeyValue> {
        self.kvs(at).pop()
    }

    pub(super) fn deleted(&self, at: usize) -> i64 {
        match self.responses.get(at) {
            Some(OpAnswer { answer: Some(Answer::Delete(deleted)) }) => deleted.deleted,
            _ => 0,
        }
    }

    /// The answer of a transaction inside this one.
    pub(super) fn inner(&mut self, at: usize) -> Self {
        match self.responses.get_mut(at) {
            Some(OpAnswer { answer: Some(Answer::Txn(inner)) }) => std::mem::take(inner),
            _ => Self::default(),
        }
    }
}
