//! The definition, word by word: try every order.

use stanchion_race::check::{History, Operation, model::Model};

/// Whether one order of the operations of this history, all of one key, explains all answers.
pub(super) fn is_linearizable<M: Model>(model: &M, history: &History) -> bool {
    search(model, &model.start(), history.operations().to_vec())
}

fn search<M: Model>(model: &M, state: &M::State, left: Vec<Operation>) -> bool {
    if left.iter().all(Operation::is_open) {
        return true;
    }
    left.iter().enumerate().any(|(at, next)| {
        let mut rest = left.clone();
        rest.remove(at);
        // Nothing that returned before it was called may come after it.
        !rest.iter().any(|other| other.ret < next.call)
            && model.step(state, next).is_some_and(|state| search(model, &state, rest))
    })
}
