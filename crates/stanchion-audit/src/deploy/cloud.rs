//! Platforms that start functions, containers or machines.

use serde_json::Value;

use super::{Facts, Instances, Kind, line_of, yaml::Document};
use crate::resolve::json as reader;

/// Resources of one template: for each, its settings are searched.
const RESOURCES_MOST: usize = 500;

/// Serverless Framework, SAM and CloudFormation, App Engine, Render.
pub(super) fn document(facts: &mut Facts<'_>, name: &str, document: &Document) {
    if name.starts_with("serverless.") && document.get("functions").is_some() {
        let line = document.get("functions").map_or(1, |entry| entry.line);
        on_demand(facts, line, "the Serverless Framework");
    }
    for (resource, entry) in document.ending("/Type").take(RESOURCES_MOST) {
        let resource = resource.rsplit('/').next().unwrap_or_default();
        match entry.value.as_str() {
            "AWS::Serverless::Function" | "AWS::Lambda::Function" => {
                let most = format!("Resources/{resource}/Properties/ReservedConcurrentExecutions");
                match document.get(&most).map(|entry| (entry.line, Instances::of(&entry.value))) {
                    Some((line, Instances::One)) => {
                        facts.add(
                            Kind::Serverless,
                            Instances::One,
                            line,
                            format!("function {resource}: one at a time"),
                        );
                    }
                    _ => on_demand(facts, entry.line, &format!("AWS Lambda ({resource})")),
                }
            }
            "AWS::ECS::Service" => {
                if let Some(count) = document.get(&format!("Resources/{resource}/Properties/DesiredCount")) {
                    let instances = Instances::of(&count.value);
                    let text = format!("service {resource}: {}", instances.words("task", &count.value));
                    facts.add(Kind::Platform, instances, count.line, text);
                }
            }
            _ => {}
        }
    }
    if matches!(name, "app.yaml" | "app.yml") && document.get("runtime").is_some() && document.get("kind").is_none() {
        app_engine(facts, document);
    }
    if name.starts_with("render.") {
        for (_, entry) in document.ending("/numInstances") {
            let instances = Instances::of(&entry.value);
            facts.add(Kind::Platform, instances, entry.line, instances.words("instance", &entry.value));
        }
    }
}

fn app_engine(facts: &mut Facts<'_>, document: &Document) {
    let limits = ["manual_scaling/instances", "basic_scaling/max_instances", "automatic_scaling/max_instances"];
    match limits.iter().find_map(|path| document.get(path)) {
        Some(entry) => {
            let instances = Instances::of(&entry.value);
            let text = format!("App Engine with {}", instances.words("instance", &entry.value));
            facts.add(Kind::Serverless, instances, entry.line, text);
        }
        None => on_demand(facts, document.get("runtime").map_or(1, |entry| entry.line), "App Engine"),
    }
}

pub(super) fn json(facts: &mut Facts<'_>, name: &str, text: &str) {
    let value = reader::parse(text);
    match name {
        "vercel.json" => match ["functions", "builds", "crons"].iter().find(|key| value.get(**key).is_some()) {
            Some(key) => on_demand(facts, line_of(text, &format!("\"{key}\"")), "Vercel"),
            None => facts.add(Kind::Serverless, Instances::Unknown, 1, "Vercel, perhaps with functions"),
        },
        "firebase.json" if value.get("functions").is_some() => {
            on_demand(facts, line_of(text, "\"functions\""), "Cloud Functions for Firebase");
        }
        "wrangler.json" if value.get("main").is_some() => {
            on_demand(facts, line_of(text, "\"main\""), "Cloudflare Workers")
        }
        "cdk.json" if value.get("app").is_some() => {
            facts.add(Kind::Serverless, Instances::Unknown, line_of(text, "\"app\""), "an AWS CDK application");
        }
        "app.json" => {
            for (process, settings) in value.get("formation").and_then(Value::as_object).into_iter().flatten().take(100)
            {
                if let Some(number) = settings.get("quantity").map(ToString::to_string) {
                    let instances = Instances::of(&number);
                    let text_line = line_of(text, &format!("\"{process}\""));
                    facts.add(
                        Kind::Platform,
                        instances,
                        text_line,
                        format!("{process}: {}", instances.words("dyno", &number)),
                    );
                }
            }
        }
        _ => {}
    }
}

pub(super) fn toml(facts: &mut Facts<'_>, name: &str, text: &str) {
    let table: toml::Table = ::toml::from_str(text).unwrap_or_default();
    match name {
        "wrangler.toml" if table.contains_key("main") => on_demand(facts, line_of(text, "main"), "Cloudflare Workers"),
        "netlify.toml" => {
            let in_build = table.get("build").and_then(|build| build.get("functions")).is_some();
            if in_build || table.contains_key("functions") {
                on_demand(facts, line_of(text, "functions"), "Netlify Functions");
            }
        }
        "fly.toml" => {
            let services = table.get("services").and_then(|services| services.as_array()?.first());
            let service = table.get("http_service").or(services);
            let least = service.and_then(|service| service.get("min_machines_running")?.as_integer());
            match least.map(|number| (number, Instances::of(&number.to_string()))) {
                Some((number, instances @ Instances::Many(_))) => {
                    let line = line_of(text, "min_machines_running");
                    facts.add(Kind::Platform, instances, line, format!("Fly keeps {number} machines running"));
                }
                _ => facts.add(Kind::Platform, Instances::Unknown, 1, "Fly, which may run several machines"),
            }
        }
        _ => {}
    }
}

/// `desired_count = 3` and functions, by lines.
pub(super) fn terraform(facts: &mut Facts<'_>, text: &str) {
    for (number, line) in (1_u32..).zip(text.lines().take(20_000)) {
        let line = line.trim();
        if let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            if matches!(key, "desired_count" | "desired_capacity") {
                let instances = Instances::of(value);
                facts.add(Kind::Platform, instances, number, instances.words("task", value));
            }
        } else if ["\"aws_lambda_function\"", "\"google_cloudfunctions", "\"google_cloud_run"]
            .iter()
            .any(|resource| line.starts_with("resource") && line.contains(resource))
        {
            on_demand(facts, number, "a function or container service");
        }
    }
}

fn on_demand(facts: &mut Facts<'_>, line: u32, platform: &str) {
    let text = format!("{platform} starts as many instances as requests need");
    facts.add(Kind::Serverless, Instances::Many(None), line, text);
}
