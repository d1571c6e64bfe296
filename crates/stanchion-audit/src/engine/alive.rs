//! Other processes, known by their numbers.

use super::Engine;
use super::event::What;
use super::known::Known;
use super::mark::Mark;
use super::value::Value;

impl Engine<'_> {
    pub(super) fn process_call(&mut self, known: &Known<'_>, verb: &str) -> Value {
        let given = known.origins();
        self.may_fail(&given);
        if verb == "starts" {
            return Value::unknown(format_args!("{}{}()", Mark::Process, known.name)).from(&given);
        }
        if let Some(number) = known.at() {
            // The signal that is none only asks.
            let signal = known.get(&known.model.value).and_then(|signal| signal.as_number());
            let ends = known.model.how.as_deref() != Some("asks") && signal != Some(0.0);
            self.emit(What::Tells { ends }, None, &number.deep_origins(), known.span);
        }
        self.result(known)
    }
}
