//! What the recorder was asked to do, and for which call.

use super::Judged;
use crate::run::{End, Played};

/// At most one effect for each call, and one for each acknowledged call.
pub(super) fn judge(played: &Played, judged: &mut Judged) {
    let of = |id: &str| played.effects.iter().filter(|effect| effect.text.contains(id)).count();
    let counted: Vec<_> = played.all().map(|record| (record, of(&record.id))).collect();
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
    }
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
