//! Commands that start several processes, wherever a command can stand.

use super::{Facts, Instances, Kind};

/// Words that may stand in front of the program that is meant.
const WRAPPERS: [&str; 32] = [
    "exec",
    "python",
    "python3",
    "poetry",
    "pdm",
    "hatch",
    "uv",
    "uvx",
    "run",
    "pipenv",
    "cmd",
    "entrypoint",
    "sh",
    "bash",
    "sudo",
    "nohup",
    "env",
    "time",
    "dumb-init",
    "tini",
    "npx",
    "yarn",
    "pnpm",
    "npm",
    "docker",
    "dotenv",
    "doppler",
    "start",
    "then",
    "do",
    "else",
    "dlx",
];
/// How texts ask for the number of processors.
const PROCESSORS: [&str; 4] = ["nproc", "cpu_count(", "cpus(", "availableParallelism("];
/// Tokens looked at per command.
const TOKENS_MOST: usize = 200;

/// Notes what the commands of one line say. Continued lines come joined.
pub(super) fn scan(facts: &mut Facts<'_>, line: u32, text: &str) {
    let text = text.split(" #").next().unwrap_or_default();
    for segment in text.split(['\n', ';', '|']).flat_map(|text| text.split("&&")) {
        let separators = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\'' | '[' | ']' | '`');
        let tokens: Vec<&str> = segment.split(separators).filter(|token| !token.is_empty()).take(TOKENS_MOST).collect();
        segment_facts(facts, line, &tokens);
    }
}

fn segment_facts(facts: &mut Facts<'_>, line: u32, tokens: &[&str]) {
    for token in tokens {
        if let Some(number) = token.strip_prefix("WEB_CONCURRENCY=") {
            workers(facts, line, "WEB_CONCURRENCY", number);
        }
    }
    let is_wrapper = |token: &str| {
        WRAPPERS.contains(&token.to_ascii_lowercase().as_str()) || token.starts_with('-') || token.contains('=')
    };
    let Some(at) = tokens.iter().position(|token| !is_wrapper(base(token))) else { return };
    let (program, rest) = (tokens.get(at).map_or("", |token| base(token)), tokens.get(at + 1..).unwrap_or_default());
    let second = rest.first().copied().unwrap_or_default();
    match program {
        "gunicorn" | "hypercorn" => option(rest, &["-w", "--workers"], |number| workers(facts, line, program, number)),
        "uvicorn" | "granian" => option(rest, &["--workers"], |number| workers(facts, line, program, number)),
        "fastapi" | "sanic" | "litestar" => {
            option(rest, &["--workers"], |number| workers(facts, line, program, number))
        }
        "uwsgi" => option(rest, &["-p", "--processes", "--workers"], |number| workers(facts, line, program, number)),
        "celery" if rest.contains(&"worker") => {
            option(rest, &["-c", "--concurrency"], |number| workers(facts, line, program, number));
        }
        "pm2" | "pm2-runtime" => option(rest, &["-i", "--instances"], |number| {
            let instances = if number.parse::<i64>().is_ok_and(|number| number > 0) {
                Instances::of(number)
            } else {
                Instances::Many(None) // `max`, 0 and -1 go by the number of processors
            };
            facts.add(Kind::Pm2, instances, line, format!("PM2 with {}", instances.words("instance", number)));
        }),
        "compose" | "docker-compose" => option(rest, &["--scale"], |scale| {
            let (service, number) = scale.split_once('=').unwrap_or((scale, ""));
            let instances = Instances::of(number);
            facts.add(
                Kind::Compose,
                instances,
                line,
                format!("service {service}: {}", instances.words("replica", number)),
            );
        }),
        "kubectl" if second == "scale" => option(rest, &["--replicas"], |number| {
            let instances = Instances::of(number);
            facts.add(Kind::Kubernetes, instances, line, instances.words("replica", number));
        }),
        "heroku" if second == "ps:scale" => {
            for (process, number) in rest.iter().filter_map(|token| token.split_once('=')) {
                let instances = Instances::of(number);
                facts.add(Kind::Platform, instances, line, format!("{process}: {}", instances.words("dyno", number)));
            }
        }
        "gcloud" if rest.starts_with(&["run", "deploy"]) || rest.starts_with(&["functions", "deploy"]) => {
            let mut most = Instances::Many(None);
            option(rest, &["--max-instances"], |number| most = Instances::of(number));
            facts.add(
                Kind::Serverless,
                most,
                line,
                format!("Google Cloud starts {}", most.words("instance", "as needed")),
            );
        }
        _ => {}
    }
}

fn workers(facts: &mut Facts<'_>, line: u32, program: &str, number: &str) {
    let instances = worker_count(number);
    facts.add(Kind::Workers, instances, line, format!("{program} with {}", instances.words("worker", number)));
}

/// `4`, `${WORKERS:-4}`, `$(nproc)`, `$WORKERS`.
pub(super) fn worker_count(text: &str) -> Instances {
    match text.split_once(":-") {
        Some((_, default)) => Instances::of(default.trim_end_matches('}')),
        None if PROCESSORS.iter().chain(&["max", "auto"]).any(|word| text.contains(word)) => Instances::Many(None),
        None => Instances::of(text),
    }
}

/// Calls `then` with the value of an option: `-w 4`, `-w4`, `--workers 4`, `--workers=4`.
fn option(tokens: &[&str], names: &[&str], then: impl FnOnce(&str)) {
    let value = tokens.iter().enumerate().find_map(|(at, token)| {
        let rest = names.iter().find_map(|name| token.strip_prefix(name))?;
        if rest.is_empty() {
            return tokens.get(at + 1).copied();
        }
        let is_short = !token.starts_with("--") && rest.starts_with(|c: char| c.is_ascii_digit());
        rest.strip_prefix('=').or_else(|| is_short.then_some(rest))
    });
    if let Some(value) = value {
        then(value);
    }
}

fn base(token: &str) -> &str {
    token.rsplit('/').next().unwrap_or(token)
}
