//! Kubernetes, Helm and docker compose.

use super::{Facts, Instances, Kind, command, yaml::Document};

pub(super) fn document(facts: &mut Facts<'_>, name: &str, document: &Document) {
    if document.get("apiVersion").is_some() && document.get("kind").is_some() {
        workload(facts, document);
    } else if name.starts_with("values") {
        values(facts, document);
    } else if document.get("services").is_some() {
        compose(facts, document);
    }
}

fn workload(facts: &mut Facts<'_>, document: &Document) {
    let (kind, name) = (document.value("kind"), document.value("metadata/name"));
    let line = document.get("kind").map_or(1, |entry| entry.line);
    let titled =
        |words: String| if name.is_empty() { format!("{kind}: {words}") } else { format!("{kind} {name}: {words}") };
    match kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "Rollout" => match document.get("spec/replicas") {
            Some(entry) => {
                let instances = Instances::of(&entry.value);
                facts.add(Kind::Kubernetes, instances, entry.line, titled(instances.words("replica", &entry.value)));
            }
            // A Deployment starts the new pod before it stops the old one, unless it is told to recreate.
            None if kind == "Deployment" && document.value("spec/strategy/type") != "Recreate" => {
                let words = "one replica, and a second one during each rollout".to_owned();
                facts.add(Kind::Kubernetes, Instances::One, line, titled(words));
            }
            None => facts.add(Kind::Kubernetes, Instances::One, line, titled("one replica".to_owned())),
        },
        "DaemonSet" => {
            facts.add(Kind::Kubernetes, Instances::Many(None), line, titled("one pod on every node".to_owned()));
        }
        "HorizontalPodAutoscaler" | "ScaledObject" => {
            let most = document.get("spec/maxReplicas").or_else(|| document.get("spec/maxReplicaCount"));
            let instances = most.map_or(Instances::Many(None), |entry| Instances::of(&entry.value));
            let (line, written) = most.map_or((line, ""), |entry| (entry.line, &entry.value));
            facts.add(
                Kind::Autoscaler,
                instances,
                line,
                titled(format!("up to {}", instances.words("replica", written))),
            );
        }
        "CronJob" => {
            let policy = document.get("spec/concurrencyPolicy");
            let (instances, words) = match policy.map(|entry| entry.value.as_str()) {
                Some("Forbid" | "Replace") => (Instances::One, "runs do not overlap"),
                _ => (Instances::Many(None), "a run may start before the last one has ended"),
            };
            facts.add(Kind::CronJob, instances, policy.map_or(line, |entry| entry.line), titled(words.to_owned()));
        }
        "Service" if document.value("apiVersion").starts_with("serving.knative.dev") => knative(facts, document, line),
        _ => {}
    }
    commands(facts, document);
}

/// Cloud Run and Knative scale by requests unless they are told not to.
fn knative(facts: &mut Facts<'_>, document: &Document, line: u32) {
    let most = document.ending("autoscaling.knative.dev/maxScale").next().map(|(_, entry)| entry);
    let instances = most.map_or(Instances::Many(None), |entry| Instances::of(&entry.value));
    let words = match instances {
        Instances::One => "at most one instance".to_owned(),
        Instances::Many(Some(number)) => format!("up to {number} instances"),
        _ => "as many instances as requests need".to_owned(),
    };
    facts.add(Kind::Serverless, instances, most.map_or(line, |entry| entry.line), words);
}

/// Helm's `values.yaml`, by the keys that charts have by custom.
fn values(facts: &mut Facts<'_>, document: &Document) {
    for key in ["replicaCount", "replicas"] {
        for (before, entry) in document.ending(key).filter(|(before, _)| before.is_empty() || before.ends_with('/')) {
            let instances = Instances::of(&entry.value);
            let words = instances.words("replica", &entry.value);
            let owner = before.trim_end_matches('/');
            let text = if owner.is_empty() { words } else { format!("{owner}: {words}") };
            facts.add(Kind::Kubernetes, instances, entry.line, text);
        }
    }
    for (before, entry) in document.ending("autoscaling/enabled").take(100).filter(|(_, entry)| entry.value == "true") {
        let most = document.get(&format!("{before}autoscaling/maxReplicas")).unwrap_or(entry);
        let instances = match Instances::of(&most.value) {
            Instances::Unknown => Instances::Many(None),
            known => known,
        };
        facts.add(Kind::Autoscaler, instances, most.line, format!("up to {}", instances.words("replica", "")));
    }
}

fn compose(facts: &mut Facts<'_>, document: &Document) {
    for entry in &document.0 {
        let parts: Vec<&str> = entry.path.split('/').collect();
        let service = match parts.as_slice() {
            ["services", service, "deploy", "replicas"] | ["services", service, "scale"] => service,
            _ => continue,
        };
        // `${REPLICAS:-2}`
        let instances = command::worker_count(&entry.value);
        facts.add(
            Kind::Compose,
            instances,
            entry.line,
            format!("service {service}: {}", instances.words("replica", &entry.value)),
        );
    }
    commands(facts, document);
}

/// Commands of containers: as text, as a list in one line, or as a list of lines.
fn commands(facts: &mut Facts<'_>, document: &Document) {
    let mut list: Option<(u32, String)> = None;
    for entry in &document.0 {
        let key = entry.path.trim_end_matches("/-").rsplit('/').next().unwrap_or_default();
        let is_command = matches!(key, "command" | "args" | "entrypoint");
        if is_command && entry.path.ends_with("/-") {
            // `command` and `args` of one container are one command.
            let (_, text) = list.get_or_insert_with(|| (entry.line, String::new()));
            text.push(' ');
            text.push_str(&entry.value);
        } else {
            if !is_command && let Some((line, text)) = list.take() {
                command::scan(facts, line, &text);
            }
            if is_command && !entry.value.is_empty() {
                command::scan(facts, entry.line, &entry.value);
            }
            if key == "WEB_CONCURRENCY" {
                command::scan(facts, entry.line, &format!("WEB_CONCURRENCY={}", entry.value));
            }
            if entry.value.starts_with("WEB_CONCURRENCY=") {
                command::scan(facts, entry.line, &entry.value);
            }
        }
    }
    if let Some((line, text)) = list {
        command::scan(facts, line, &text);
    }
}
