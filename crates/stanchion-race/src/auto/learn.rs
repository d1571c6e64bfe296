//! One call after the other: how does what was created show itself?

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout_at};

use super::draft::Draft;
use super::tools::Tool;
use super::{LEARN_CALLS_MAX, LEARN_SECONDS, TIMES};
use crate::oracle::select;
use crate::run::{ask, random};
use crate::spec::{Request, Spec, Vars};
use crate::target::{Answer, Asked, Instance, Plan, Reply, shown};

const CALL: Duration = Duration::from_secs(5);
/// What was acknowledged must be shown so soon, if nobody else calls.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Why something was not learnt.
#[derive(Debug)]
pub(super) enum Not {
    /// These two tools do not fit; others may.
    Pair(String),
    /// Nothing more can be learnt from this server.
    Server(String),
}

/// Two instances that are asked one thing at a time.
pub(super) struct Session {
    instances: Vec<Arc<Instance>>,
    vars: Vars,
    calls: usize,
    until: Instant,
    /// What `{dir}` is, until the end.
    _dir: TempDir,
}

impl Session {
    pub(super) async fn start(spec: &Spec, root: &str, allow_remote: &[String]) -> Result<Self, String> {
        let dir = tempfile::Builder::new().prefix("stanchion-race-").tempdir();
        let dir = dir.map_err(|error| format!("no folder: {error}"))?;
        let vars = Vars { dir: dir.path().to_string_lossy().into_owned(), root: root.to_owned(), ..Vars::default() };
        let target = Arc::new(spec.target.clone());
        let mut instances = Vec::new();
        for i in 0..spec.target.instances {
            let vars = Vars { i, ..vars.clone() };
            let plan = Plan {
                target: Arc::clone(&target),
                vars,
                allow_remote: allow_remote.into(),
                cut_short: Arc::default(),
            };
            let started = Instance::start(plan).await;
            instances
                .push(Arc::new(started.map_err(|why| format!("instance {i} of the target does not start: {why}"))?));
        }
        let until = Instant::now() + Duration::from_secs(LEARN_SECONDS);
        Ok(Self { instances, vars, calls: 0, until, _dir: dir })
    }

    /// Nothing more is asked.
    pub(super) async fn end(self) {
        for instance in &self.instances {
            instance.end().await;
        }
    }

    pub(super) async fn tools(&self) -> Result<Vec<Tool>, String> {
        let link = self.instances.first().ok_or("it is not there")?.link().await?;
        let told = timeout_at(self.until, link.tools()).await;
        let told = told.unwrap_or_else(|_| Err(format!("tools/list was not answered in {LEARN_SECONDS} s")))?;
        Ok(told.iter().filter_map(Tool::new).collect())
    }

    async fn ask(&mut self, i: usize, request: &Request, id: &str) -> Result<Answer, Not> {
        let Some(instance) = self.instances.get(i).cloned() else {
            return Err(Not::Server("there is no instance".into()));
        };
        self.calls += 1;
        let left = self.until.saturating_duration_since(Instant::now());
        if self.calls > LEARN_CALLS_MAX || left.is_zero() {
            let spent = format!("nothing fitting was found in {LEARN_SECONDS} s and {LEARN_CALLS_MAX} calls");
            return Err(Not::Server(spent));
        }
        let vars = Vars { id: id.to_owned(), i, ..self.vars.clone() };
        let reply = ask(&instance, &Asked::fill(request, &vars), CALL.min(left)).await;
        if let Some(trouble) = instance.trouble().await {
            return Err(Not::Server(format!("the target failed at {}: {trouble}", request.title())));
        }
        let why = match reply {
            Reply::Answer(answer) => return Ok(answer),
            Reply::Refused { what, .. } => what,
            Reply::Undelivered(why) | Reply::Silent(why) => why,
            Reply::Garbage(what) => {
                return Err(Not::Server(format!("the target answered {} with {}", request.title(), shown(&what))));
            }
        };
        Err(Not::Pair(format!("{} failed: {why}", request.title())))
    }

    /// Creates one thing, and gives its mark.
    async fn create(&mut self, i: usize, spec: &Spec) -> Result<String, Not> {
        let Some(call) = spec.calls.first() else { return Err(Not::Pair("there is no call".into())) };
        let id = format!("{:016x}", random().map_err(Not::Server)?);
        self.ask(i, &call.request, &id).await?;
        Ok(format!("race-{id}"))
    }

    async fn show(&mut self, i: usize, spec: &Spec) -> Result<Answer, Not> {
        let Some(read) = &spec.read else { return Err(Not::Pair("there is no read".into())) };
        self.ask(i, &read.request, "").await
    }

    /// Looks until all marks are shown; `None` if some stay away.
    async fn shows(&mut self, i: usize, spec: &Spec, marks: &[String]) -> Result<Option<Answer>, Not> {
        for look in 0..LOOKS {
            if look > 0 {
                sleep(BETWEEN_LOOKS).await;
            }
            let answer = self.show(i, spec).await?;
            if marks.iter().all(|mark| has(&answer, mark)) {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// As many as are raced, one after the other: a listing that is short of them even then, or not always the same, says
    /// nothing about a race.
    async fn confirm(&mut self, spec: &Spec) -> Result<(), Not> {
        let mut marks = Vec::new();
        for _ in 0..TIMES {
            marks.push(self.create(0, spec).await?);
        }
        if self.shows(0, spec, &marks).await?.is_none() {
            return Err(Not::Pair(format!(
                "{TIMES} things created one after the other are not all shown: the listing is short"
            )));
        }
        for _ in 0..LOOKS {
            let answer = self.show(0, spec).await?;
            if !marks.iter().all(|mark| has(&answer, mark)) {
                return Err(Not::Pair("what is shown is not always the same, although nothing is created".into()));
            }
        }
        Ok(())
    }

    /// Fills in what the draft does not know yet.
    pub(super) async fn learn(&mut self, draft: &mut Draft<'_>) -> Result<Option<String>, Not> {
        let spec = draft.spec().map_err(Not::Pair)?;
        let (create, show) = (draft.create.0.clone(), draft.show.0.clone());
        let pair = |why: &str| Not::Pair(format!("{create}, {show}: {why}"));
        self.show(0, &spec).await?;
        let one = self.create(0, &spec).await?;
        let marks = vec![one.clone()];
        let found = self.shows(0, &spec, &marks).await?;
        found.ok_or_else(|| pair("what is created is not shown"))?;
        let marks = [one, self.create(0, &spec).await?];
        let found = self.shows(0, &spec, &marks).await?;
        let found = found.ok_or_else(|| pair("what is created takes the place of what was there"))?;
        (draft.select, draft.is_once) = place(&found, &marks);
        if draft.select.is_none() && !marks.iter().all(|mark| found.text.contains(mark.as_str())) {
            return Err(pair("what is created is not shown as a value or text"));
        }
        self.confirm(&spec).await?;
        self.together(draft, &spec, marks.to_vec()).await
    }

    /// Do both instances work on the same? If not, one is raced, and it is said.
    async fn together(
        &mut self,
        draft: &mut Draft<'_>,
        spec: &Spec,
        mut marks: Vec<String>,
    ) -> Result<Option<String>, Not> {
        let mut is_shared = self.shows(1, spec, &marks).await?.is_some();
        if is_shared {
            marks.push(self.create(1, spec).await?);
            is_shared = self.shows(0, spec, &marks).await?.is_some();
        }
        if is_shared {
            return Ok(None);
        }
        draft.instances = 1;
        Ok(Some("what one process creates another one does not show: one process is raced".into()))
    }
}

fn has(answer: &Answer, mark: &str) -> bool {
    answer.text.contains(mark) || answer.json.as_ref().is_some_and(|json| json.to_string().contains(mark))
}

/// Where the marks are values, and whether each is there exactly once.
fn place(answer: &Answer, marks: &[String]) -> (Option<String>, bool) {
    let Some(json) = &answer.json else { return (None, false) };
    let mut places = Vec::new();
    for mark in marks.iter().take(1) {
        walk(json, mark, &mut String::new(), &mut places);
    }
    let count = |place: &String, mark: &String| {
        select(json, place).into_iter().filter(|it| it.as_str() == Some(mark.as_str())).count()
    };
    places.retain(|place| marks.iter().all(|mark| count(place, mark) > 0));
    let once = places.iter().find(|place| marks.iter().all(|mark| count(place, mark) == 1)).cloned();
    match once {
        Some(place) => (Some(place), true),
        None => (places.into_iter().next(), false),
    }
}

/// Pointers to values that are the mark, with `*` for elements.
fn walk(value: &Value, mark: &str, path: &mut String, places: &mut Vec<String>) {
    let length = path.len();
    let mut inner = |part: &str, value: &Value, path: &mut String| {
        path.push('/');
        path.push_str(part);
        walk(value, mark, path, places);
        path.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| inner("*", item, path)),
        Value::Object(fields) => {
            for (name, item) in fields {
                // A table by name is a listing as well.
                let part = if name.contains(mark) { "*".into() } else { name.replace('~', "~0").replace('/', "~1") };
                inner(&part, item, path);
            }
        }
        Value::String(text) if text == mark && !places.contains(path) => places.push(path.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(json: Value) -> (Option<String>, bool) {
        let answer = Answer::new(json.to_string(), Some(json));
        place(&answer, &["race-a".into(), "race-b".into()])
    }

    #[test]
    fn the_place_of_a_mark_is_the_one_where_each_is_there_once() {
        let entity = |name: &str| json!({"name": name, "observations": [name, name]});
        let graph = json!({"entities": [{"name": "old"}, entity("race-a"), entity("race-b")]});
        assert_eq!(found(graph), (Some("/entities/*/name".into()), true));
        assert_eq!(found(json!({"race-a": {"v": "race-a"}, "race-b": {"v": "race-b"}})), (Some("/*/v".into()), true));
        assert_eq!(found(json!([["race-a", "race-a"], ["race-b"]])), (Some("/*/*".into()), false));
        assert_eq!(found(json!({"last": "race-a", "text": "race-a race-b"})), (None, false));
        assert_eq!(found(json!("race-a, race-b")), (None, false));
    }
}
