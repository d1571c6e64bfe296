use super::*;

mod packages;
mod started;

fn said(path: &str, text: &str) -> Vec<String> {
    Deployment::read([(path, text)]).facts.iter().map(|fact| format!("{}: {}", fact.line, fact.text)).collect()
}

fn how_many(path: &str, text: &str) -> Vec<Instances> {
    Deployment::read([(path, text)]).facts.iter().map(|fact| fact.instances).collect()
}

const MANY: Instances = Instances::Many(None);

#[test]
fn kubernetes_workloads_autoscalers_and_jobs() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n---\n\
                apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec:\n  maxReplicas: 10\n---\n\
                apiVersion: batch/v1\nkind: CronJob\nmetadata: \n  name: clean\nspec:\n  schedule: \"* * * * *\"\n---\n\
                apiVersion: batch/v1\nkind: CronJob\nspec:\n  concurrencyPolicy: Forbid\n---\n\
                apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    let expected = [
        "6: Deployment web: 3 replicas",
        "11: HorizontalPodAutoscaler: up to 10 replicas",
        "14: CronJob clean: a run may start before the last one has ended",
        "23: CronJob: runs do not overlap",
    ];
    assert_eq!(said("deploy/web.yaml", text), expected);
    let without = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template: {}\n";
    assert_eq!(how_many("web.yaml", without), [Instances::One]);
    let braces =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: a }\nspec: { replicas: 3, template: { spec: {} } }\n";
    assert_eq!(said("web.yaml", braces), ["4: Deployment a: 3 replicas"]);
}

#[test]
fn helm_templates_and_values() {
    let template = "{{- if .Values.on }}\napiVersion: apps/v1\nkind: Deployment\nspec:\n  {{- with .x }}\n  replicas: {{ .Values.replicaCount }}\n{{- end }}\n";
    assert_eq!(said("chart/templates/web.yaml", template), ["6: Deployment: replicas: {{ .Values.replicaCount }}"]);
    assert_eq!(how_many("chart/templates/web.yaml", template), [Instances::Unknown]);
    let values = "replicaCount: 3\nworker:\n  replicaCount: 1\nautoscaling:\n  enabled: true\n  maxReplicas: 5\n";
    assert_eq!(said("chart/values.yaml", values), ["1: 3 replicas", "3: worker: one replica", "6: up to 5 replicas"]);
    assert!(said("chart/values.yaml", "autoscaling:\n  enabled: false\n  maxReplicas: 5\n").is_empty());
}

#[test]
fn compose_files() {
    let text = "services:\n  web:\n    deploy:\n      replicas: 2\n  job:\n    scale: 1\n  api:\n    command: gunicorn app -w 4\n    environment:\n      - WEB_CONCURRENCY=3\n  x:\n    command:\n      - uvicorn\n      - --workers\n      - \"5\"\n";
    let expected = [
        "4: service web: 2 replicas",
        "6: service job: one replica",
        "8: gunicorn with 4 workers",
        "10: WEB_CONCURRENCY with 3 workers",
        "13: uvicorn with 5 workers",
    ];
    assert_eq!(said("docker-compose.yml", text), expected);
}

#[test]
fn commands_wherever_they_stand() {
    for (path, text, expected) in [
        ("Procfile", "release: x\nworker: gunicorn a:b --workers=3", "2: gunicorn with 3 workers"),
        (
            "Dockerfile",
            "RUN pip install gunicorn -w 9\nCMD [\"gunicorn\", \"-w\", \"4\", \"a\"]",
            "2: gunicorn with 4 workers",
        ),
        ("Dockerfile", "CMD exec uvicorn a:b \\\n  --workers 2", "1: uvicorn with 2 workers"),
        ("Dockerfile.prod", "ENV WEB_CONCURRENCY=4", "1: WEB_CONCURRENCY with 4 workers"),
        ("run.sh", "#!/bin/sh\n# gunicorn -w 7\npoetry run gunicorn -w4 a", "3: gunicorn with 4 workers"),
        ("run.sh", "cd x && python -m hypercorn -w ${W:-6} a", "1: hypercorn with 6 workers"),
        ("run.sh", "/usr/bin/granian --workers $(nproc) a", "1: granian with several workers"),
        ("run.sh", "gunicorn -w $W a", "1: gunicorn with workers: $W"),
        ("run.sh", "docker compose up --scale web=3", "1: service web: 3 replicas"),
        ("run.sh", "heroku ps:scale web=2", "1: web: 2 dynos"),
        ("run.sh", "kubectl scale deploy/web --replicas=4", "1: 4 replicas"),
        ("run.sh", "gcloud run deploy web --max-instances 1", "1: Google Cloud starts one instance"),
        (
            "package.json",
            "{\"scripts\": {\n\"start\": \"pm2-runtime start a.js -i max\"}}",
            "2: PM2 with several instances",
        ),
        ("supervisord.conf", "[program:a]\nnumprocs=3", "2: supervisord with 3 workers"),
        ("web.service", "[Service]\nExecStart=/opt/venv/bin/gunicorn a -w 2", "2: gunicorn with 2 workers"),
        (
            "k.yaml",
            "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command: [\"gunicorn\"]\n    args: x\n  - args: [\"gunicorn\", \"-w\", \"2\"]\n",
            "7: gunicorn with 2 workers",
        ),
    ] {
        assert_eq!(said(path, text), [expected], "{text}");
    }
    assert!(said("run.sh", "gunicorn app\npip install uvicorn --workers 3\necho gunicorn -w 4").is_empty());
}

#[test]
fn process_managers() {
    let js = "module.exports = {\n  apps: [{\n    name: 'web',\n    instances: 'max', // all\n    exec_mode: 'cluster',\n  }]\n};";
    assert_eq!(said("ecosystem.config.js", js), ["4: PM2 with several instances"]);
    assert_eq!(said("ecosystem.config.cjs", "apps: [{ name: 'a', instances: 4 }]"), ["1: PM2 with 4 instances"]);
    let one_line = "module.exports = { apps: [{ name: 'a', script: 'a.js', instances: 4, exec_mode: 'cluster' }] };";
    assert_eq!(said("ecosystem.config.js", one_line), ["1: PM2 with 4 instances"]);
    let json = "{\"apps\":[{\"script\":\"a.js\",\"instances\":\"max\",\"exec_mode\":\"cluster\"}]}";
    for name in ["ecosystem.json", "pm2.json", "pm2.config.cjs"] {
        assert_eq!(said(name, json), ["1: PM2 with several instances"], "{name}");
    }
    let address = "apps: [{ name: 'a', env: { URL: 'http://x' }, instances: 4 }] // http://y, instances: 5";
    assert_eq!(said("ecosystem.config.js", address), ["1: PM2 with 4 instances"]);
    assert_eq!(said("ecosystem.config.js", "  instances: 4 /* each */,"), ["1: PM2 with 4 instances"]);
    let processors = "apps: [{ name: 'a', instances: os.cpus().length }]";
    assert_eq!(how_many("ecosystem.config.js", processors), [MANY]);
    assert_eq!(how_many("ecosystem.config.js", "apps: [{ name: 'a', instances: opts.cpus }]"), [Instances::Unknown]);
    assert_eq!(said("ecosystem.config.js", "apps: [{ // instances: 4\n name: 'a' }]"), Vec::<String>::new());
    assert_eq!(said("gunicorn.conf.py", "workers = 4\n"), ["1: gunicorn with 4 workers"]);
    assert_eq!(how_many("gunicorn.conf.py", "workers = multiprocessing.cpu_count() * 2 + 1\n"), [MANY]);
    assert_eq!(how_many("gunicorn.conf.py", "worker_class = 'x'\n"), []);
    assert_eq!(how_many("etc/web@.service", "[Service]\n"), [MANY]);
    assert_eq!(how_many("etc/web.service", "[Service]\n"), []);
    assert_eq!(how_many("Procfile", "web: node server.js\n"), [Instances::Unknown]);
}

#[test]
fn serverless_and_platforms() {
    for (path, text, expected) in [
        ("serverless.yml", "service: x\nfunctions:\n  a:\n    handler: a.b\n", MANY),
        ("template.yaml", "Resources:\n  F:\n    Type: AWS::Serverless::Function\n", MANY),
        (
            "template.yaml",
            "Resources:\n  F:\n    Type: AWS::Lambda::Function\n    Properties:\n      ReservedConcurrentExecutions: 1\n",
            Instances::One,
        ),
        (
            "stack.yaml",
            "Resources:\n  S:\n    Type: AWS::ECS::Service\n    Properties:\n      DesiredCount: 2\n",
            Instances::Many(Some(2)),
        ),
        ("app.yaml", "runtime: python312\n", MANY),
        ("app.yaml", "runtime: nodejs\nmanual_scaling:\n  instances: 1\n", Instances::One),
        ("service.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\n", MANY),
        (
            "service.yaml",
            "apiVersion: serving.knative.dev/v1\nkind: Service\nspec:\n  template:\n    metadata:\n      annotations:\n        autoscaling.knative.dev/maxScale: '1'\n",
            Instances::One,
        ),
        ("vercel.json", "{\"functions\": {}}", MANY),
        ("vercel.json", "{}", Instances::Unknown),
        ("firebase.json", "{\"functions\": {\"source\": \"functions\"}}", MANY),
        ("wrangler.toml", "main = \"src/index.ts\"\n", MANY),
        ("wrangler.jsonc", "{ // x\n\"main\": \"a.ts\",}", MANY),
        ("netlify.toml", "[functions]\nnode_bundler = \"esbuild\"\n", MANY),
        ("fly.toml", "[http_service]\nmin_machines_running = 2\n", Instances::Many(Some(2))),
        ("fly.toml", "[http_service]\nmin_machines_running = 0\n", Instances::Unknown),
        ("app.json", "{\"formation\": {\"web\": {\"quantity\": 3}}}", Instances::Many(Some(3))),
        ("render.yaml", "services:\n  - type: web\n    numInstances: 3\n", Instances::Many(Some(3))),
        ("main.tf", "resource \"aws_ecs_service\" \"a\" {\n  desired_count = 2\n}\n", Instances::Many(Some(2))),
        ("main.tf", "resource \"aws_lambda_function\" \"a\" {\n", MANY),
    ] {
        assert_eq!(how_many(path, text), [expected], "{path}: {text}");
    }
    assert_eq!(how_many("netlify.toml", "[build]\npublish = \"dist\"\n"), []);
    assert_eq!(how_many("values.yaml", "Type: x\n"), []);
}

#[test]
fn mcp_servers_over_stdio_are_many_processes() {
    let package = "{\"name\": \"notes\",\n\"bin\": {\"notes\": \"dist/index.js\"},\n\"dependencies\": {\"@modelcontextprotocol/sdk\": \"^1\"}}";
    for (path, text, line) in [
        ("package.json", package, 2),
        ("pyproject.toml", "[project]\ndependencies = [\"mcp[cli]>=1.2\"]\n[project.scripts]\nx = \"x:main\"\n", 3),
        ("pyproject.toml", "[tool.poetry.scripts]\nx = \"x:main\"\n[tool.poetry.dependencies]\nfastmcp = \"^2\"\n", 1),
        ("Cargo.toml", "[dependencies]\nrmcp = { version = \"3\", features = [\"server\", \"transport-io\"] }\n", 2),
        ("server.json", "{\"packages\": [{\"transport\":\n{\"type\": \"stdio\"}}]}", 2),
        ("smithery.yaml", "startCommand:\n  type: stdio\n", 2),
        (".mcp.json", "{\"mcpServers\": {\n\"notes\": {\"command\": \"node\", \"args\": [\"dist/index.js\"]}}}", 2),
        ("manifest.json", "{\"server\": {\"mcp_config\": {}}}", 1),
    ] {
        let deployment = Deployment::read([(path, text)]);
        let facts: Vec<_> = deployment.facts.iter().map(|fact| (fact.kind, fact.line)).collect();
        assert_eq!(facts, [(Kind::StdioMcp, line)], "{path}");
        assert!(deployment.is_many());
    }
    for (path, text) in [
        ("package.json", "{\"bin\": \"a.js\", \"dependencies\": {\"express\": \"^4\"}}"),
        ("package.json", "{\"dependencies\": {\"@modelcontextprotocol/sdk\": \"^1\"}}"),
        ("pyproject.toml", "[project]\ndependencies = [\"mcpx\"]\n[project.scripts]\nx = \"x:main\"\n"),
        (
            ".mcp.json",
            "{\"mcpServers\": {\"web\": {\"command\": \"npx\", \"args\": [\"-y\", \"@other/server@latest\"]}}}",
        ),
        ("manifest.json", "{\"manifest_version\": 3}"),
        ("smithery.yaml", "startCommand:\n  type: http\n"),
    ] {
        assert!(said(path, text).is_empty(), "{path} {text}");
    }
    let own = "{\"mcpServers\": {\"n\": {\"command\": \"npx\", \"args\": [\"-y\", \"notes@latest\"]}}}";
    assert_eq!(Deployment::read([("mcp.json", own), ("package.json", "{\"name\": \"notes\"}")]).facts.len(), 1);
}

#[test]
fn tests_and_examples_are_no_deployment() {
    let text = "services:\n  web:\n    scale: 3\n";
    for path in ["tests/docker-compose.yml", "examples/docker-compose.yml", "e2e/compose.yaml"] {
        assert!(said(path, text).is_empty(), "{path}");
    }
    assert_eq!(said("deploy/compose.yaml", text).len(), 1);
}

#[test]
fn facts_are_sorted_once_and_the_best_is_evidence() {
    let files = [
        ("b.sh", "gunicorn a -w 2"),
        ("a.sh", "gunicorn a -w 8"),
        ("a.sh", "gunicorn a -w 8"),
        ("c.sh", "gunicorn a -w $X"),
    ];
    let mut deployment = Deployment::read(files);
    let shown: Vec<_> = deployment.facts.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["gunicorn with 8 workers (a.sh:1)", "gunicorn with 2 workers (b.sh:1)", "gunicorn with workers: $X (c.sh:1)"]
    );
    assert_eq!(deployment.evidence().map(|fact| fact.path.as_str()), Some("a.sh"));
    let fork = Fact { path: "a.js".into(), line: 1, kind: Kind::Cluster, instances: MANY, text: "forks".into() };
    deployment.add(fork.clone());
    deployment.add(fork);
    assert_eq!(deployment.facts.iter().filter(|fact| fact.kind == Kind::Cluster).count(), 1);
    assert_eq!(deployment.facts.first().map(|fact| fact.kind), Some(Kind::Cluster));
}

#[test]
fn broken_texts_say_nothing_and_do_not_harm() {
    let names = [
        "a.yaml",
        "values.yaml",
        "docker-compose.yml",
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "fly.toml",
        "vercel.json",
        ".mcp.json",
        "server.json",
        "Procfile",
        "Dockerfile",
        "x@.service",
        "gunicorn.conf.py",
        "ecosystem.config.js",
        "a.tf",
    ];
    let deep = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let texts = [
        "",
        "{",
        "]",
        ":",
        "= = =",
        "\0\0",
        "a:\n\t- b: {{\n",
        "---\n---",
        "workers =",
        "ENTRYPOINT [",
        "gunicorn -w",
        "é: ü\\",
        &deep,
    ];
    for name in names {
        for text in texts {
            Deployment::read([(name, text)]);
        }
    }
    assert!(said("run.sh", &"gunicorn a -w 2\n".repeat(200_000)).is_empty()); // too large
    assert_eq!(said("run.sh", &"gunicorn a -w 2\n".repeat(5_000)).len(), FACTS_MOST);
}

#[test]
fn a_server_over_stdio_is_seen_in_its_code() {
    let many = |files: &[(&str, &str)]| Deployment::read(files.iter().copied()).is_many();
    assert!(many(&[("a.py", "from mcp.server.stdio import stdio_server\n")]));
    assert!(many(&[("a.ts", "import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';")]));
    assert!(many(&[("main.go", "server.ServeStdio(s)")]) && many(&[("main.rs", "use rmcp::transport::stdio;")]));
    // The default, unless another transport is named somewhere.
    let made = ("a.py", "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('a')\n");
    assert!(many(&[made, ("b.py", "from a import mcp\nmcp.run()\n")]));
    assert!(!many(&[made, ("b.py", "mcp.run(transport=\"streamable-http\")")]));
    assert!(many(&[("a.py", "from fastmcp import FastMCP\nWAYS = ['stdio', 'streamable-http']\n")]));
    // Comments, tests and clients say nothing.
    assert!(!many(&[("a.py", "# transport=\"stdio\"\n"), ("tests/test_a.py", "stdio_server()\n")]));
    assert!(!many(&[("a.py", "from mcp.client.stdio import stdio_client\nconfig = {'type': 'stdio'}\n")]));
}

#[test]
fn a_package_that_servers_are_made_with_and_a_command_make_a_server_over_stdio() {
    let package = "{\"bin\": {\"a\": \"./a.js\"}, \"dependencies\": {\"tmcp\": \"^1\"}}";
    assert_eq!(Deployment::read([("package.json", package)]).facts[0].kind, Kind::StdioMcp);
    let transport = "import { StdioTransport } from \"@tmcp/transport-stdio\";";
    assert!(Deployment::read([("a.js", transport)]).is_many());
}
