//! Schedules as files.

use std::fmt;

use super::{Fault, Schedule};
use crate::spec::{FaultKind, Kind, Spec};

/// Why a schedule cannot be used.
///
/// ```
/// # use stanchion_race::{Schedule, Spec};
/// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
/// # let spec = Spec::parse(text, "probe.toml").unwrap();
/// assert!(Schedule::from_json("{}", &spec).unwrap_err().to_string().contains("schedule"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleError(String);

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schedule cannot be used: {}", self.0)
    }
}

impl std::error::Error for ScheduleError {}

impl Schedule {
    /// What is written to a file.
    ///
    /// ```
    /// # use stanchion_race::{Schedule, Spec};
    /// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = Spec::parse(text, "probe.toml").unwrap();
    /// assert!(Schedule::generate(&spec, 17, 0).to_json().contains("\"seed\": 17"));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote, for this specification.
    ///
    /// # If it fails
    /// It is no schedule, or speaks of calls, instances or faults that the specification does not have.
    ///
    /// ```
    /// # use stanchion_race::{Schedule, Spec};
    /// # let text = "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = Spec::parse(text, "probe.toml").unwrap();
    /// let two = r#"{"version":1,"seed":17,"round":0,"instances":1,
    ///     "steps":[{"n":0,"call":0,"instance":0},{"n":1,"call":0,"instance":0}]}"#;
    /// assert_eq!(Schedule::from_json(two, &spec)?.steps.len(), 2);
    /// # Ok::<(), stanchion_race::ScheduleError>(())
    /// ```
    pub fn from_json(text: &str, spec: &Spec) -> Result<Self, ScheduleError> {
        let schedule: Self = serde_json::from_str(text).map_err(|error| ScheduleError(error.to_string()))?;
        schedule.check(spec).map_err(ScheduleError)?;
        Ok(schedule)
    }

    fn check(&self, spec: &Spec) -> Result<(), String> {
        if self.version != 1 {
            return Err(format!("its version is {}, and 1 is known", self.version));
        }
        if self.instances == 0 || self.instances > spec.target.instances {
            return Err(format!(
                "it has {} instances, and the specification {}",
                self.instances, spec.target.instances
            ));
        }
        if self.steps.is_empty() || self.steps.len() > spec.limits.calls {
            return Err(format!("it has {} calls; 1 to {} are allowed", self.steps.len(), spec.limits.calls));
        }
        let mut seen: Vec<usize> = self.steps.iter().map(|step| step.n).collect();
        seen.sort_unstable();
        if seen.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) || seen.last().is_some_and(|n| *n >= 1 << 20) {
            return Err("two of its calls have the same number, or one has a number of a million".into());
        }
        for (kind, call) in spec.calls.iter().enumerate().filter(|_| spec.expect.is_fixed()) {
            let made = self.steps.iter().filter(|step| step.call == kind).count();
            if made != call.times {
                let (title, times) = (call.request.title(), call.times);
                return Err(format!(
                    "it calls {title} {made} times, and the specification {times} times: a fixed number in `count` or `sum` is about all of them"
                ));
            }
        }
        for step in &self.steps {
            let n = step.n;
            let Some(call) = spec.calls.get(step.call) else {
                return Err(format!("call {n} is of kind {}, and there are {}", step.call, spec.calls.len()));
            };
            let other = match step.fault {
                Some(Fault::Duplicate { instance, .. }) => instance,
                _ => step.instance,
            };
            if step.instance >= self.instances || other >= self.instances {
                return Err(format!("call {n} goes to an instance that there is not"));
            }
            let longest = step.fault.map_or(0, |fault| fault.longest_us()).max(step.delay_us);
            if longest > 60_000_000 {
                return Err(format!("call {n} waits for longer than 60 s"));
            }
            if let Some(fault) = step.fault.filter(|fault| !call.faults.contains(&fault.kind())) {
                return Err(format!("call {n} meets {}, which its [[call]] does not name", fault.name()));
            }
            let is_reset = matches!(step.fault, Some(Fault::Reset { .. }));
            if is_reset && spec.target.kind == Kind::McpStdio {
                return Err(format!("call {n} is reset, which pipes cannot be"));
            }
        }
        Ok(())
    }
}

impl Fault {
    fn kind(self) -> FaultKind {
        match self {
            Self::Delay { .. } => FaultKind::Delay,
            Self::LostReply => FaultKind::LostReply,
            Self::Duplicate { .. } => FaultKind::Duplicate,
            Self::Reset { .. } => FaultKind::Reset,
            Self::Pause { .. } => FaultKind::Pause,
            Self::Kill { .. } => FaultKind::Kill,
        }
    }

    fn longest_us(self) -> u64 {
        match self {
            Self::Delay { before_us, after_us } => before_us.max(after_us),
            Self::LostReply => 0,
            Self::Duplicate { after_us, .. } | Self::Reset { after_us } => after_us,
            Self::Pause { after_us, ms } | Self::Kill { after_us, restart_ms: ms } => {
                after_us.max(ms.saturating_mul(1000))
            }
        }
    }
}
