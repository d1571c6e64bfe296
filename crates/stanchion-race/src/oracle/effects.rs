//! What the recorder was asked to do, and for which call.

use std::collections::{BTreeSet, HashMap};

use super::Judged;
use crate::run::{End, Played, Record};

/// At most one effect for each call, and one for each acknowledged call.
pub(super) fn judge(played: &Played, judged: &mut Judged) {
    let counted = by_id(played);
    if !played.effects.is_empty() && counted.iter().all(|(_, effects)| *effects == 0) {
        return by_number(played, judged);
    }
    let doubled: Vec<_> = counted.iter().filter(|(_, effects)| *effects > 1).collect();
    let missing: Vec<_> = counted.iter().filter(|(it, effects)| it.is(End::Acknowledged) && *effects == 0).collect();
    if doubled.len() + missing.len() > 0 {
        let acknowledged = played.count(End::Acknowledged);
        let what =
            format!("{acknowledged} acknowledged, {} done more than once, {} not done", doubled.len(), missing.len());
        let examples = doubled.iter().chain(&missing).take(5);
        let examples = examples.map(|(it, effects)| format!("call {} ({}): {effects} times", it.n, it.id)).collect();
        judged.add("effects", None, what, examples);
        judged.about(missing.iter().map(|(it, _)| *it), doubled.iter().map(|(it, _)| *it));
    }
}

/// How many requests carry the id of each call. All ids have one length, so that one pass over a request finds all of them.
fn by_id(played: &Played) -> Vec<(&Record, usize)> {
    let mut counted: Vec<(&Record, usize)> = played.all().map(|record| (record, 0)).collect();
    let at: HashMap<&[u8], usize> = counted.iter().enumerate().map(|(at, (it, _))| (it.id.as_bytes(), at)).collect();
    let length = counted.first().map_or(0, |(record, _)| record.id.len());
    for effect in played.effects.iter().filter(|_| length > 0) {
        let named: BTreeSet<usize> =
            effect.text.as_bytes().windows(length).filter_map(|part| at.get(part).copied()).collect();
        for at in named {
            if let Some((_, effects)) = counted.get_mut(at) {
                *effects += 1;
            }
        }
    }
    counted
}

/// The requests carry no id: only their number can be judged.
fn by_number(played: &Played, judged: &mut Judged) {
    let (acknowledged, done) = (played.count(End::Acknowledged), played.effects.len());
    let most = acknowledged + played.all().filter(|record| record.is_doubtful()).count();
    if done < acknowledged || done > most {
        let what = format!("{acknowledged} acknowledged, at most {most} allowed, {done} done");
        judged.add("effects", None, what, Vec::new());
    }
}
