//! The whole set-up: PostgreSQL, two instances, the balancer, the outbox, and clients.

use std::process::Command;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion, RequestMetaObject};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use stanchion_testkit::engines::Postgres;
use stanchion_testkit::pause::PauseDir;
use stanchion_testkit::process::Child;
use tempfile::TempDir;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Everything that runs. Ends with it.
pub(crate) struct Site {
    pub(crate) a: Instance,
    pub(crate) b: Instance,
    _balancer: Child,
    url: String,
    outbox: TempDir,
    _postgres: Postgres,
}

pub(crate) struct Instance {
    pub(crate) process: Child,
    /// Holds this instance, and no other, at named points.
    pub(crate) pauses: PauseDir,
    pub(crate) address: String,
}

impl Site {
    /// Starts all of it; `arguments` go to both instances.
    pub(crate) async fn start(arguments: &[&str]) -> Site {
        Site::start_on(Postgres::start().await, arguments).await
    }

    /// On a database that survives a power cut: others are not trusted with invoices.
    pub(crate) async fn durable(arguments: &[&str]) -> Site {
        Site::start_on(Postgres::options().fsync(true).start().await, arguments).await
    }

    async fn start_on(postgres: Postgres, arguments: &[&str]) -> Site {
        let outbox = TempDir::new().unwrap();
        let file = outbox.path().join("invoices.jsonl");
        let mut all = vec!["--database".to_owned(), postgres.url(), "--outbox".to_owned()];
        all.push(file.to_str().unwrap().to_owned());
        all.extend(arguments.iter().map(|text| (*text).to_owned()));
        let (a, b) = (Instance::start(&all).await, Instance::start(&all).await);
        let mut balancer = Child::spawn(program().args(["--balance", &a.address, "--balance", &b.address]));
        let url = balancer.expect_line("READY", PATIENCE).await;
        Site { a, b, _balancer: balancer, url, outbox, _postgres: postgres }
    }

    /// A client of the balancer.
    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.url).await
    }

    /// A client of the time before 2026-07-28, which says hello first.
    pub(crate) async fn older_client(&self) -> Client {
        Client::connect_as(&self.url, ClientLifecycleMode::Initialize).await
    }

    /// The ids of the invoices that the world has seen from this tool.
    pub(crate) fn invoices(&self, by: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.outbox.path().join("invoices.jsonl")).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["by"] == by).map(|line| line["invoiceId"].as_str().unwrap().to_owned()).collect()
    }
}

impl Instance {
    async fn start(arguments: &[String]) -> Instance {
        let pauses = PauseDir::new();
        let (name, value) = pauses.variable();
        let mut process = Child::spawn(program().args(arguments).env(name, value));
        let address = process.expect_line("READY", PATIENCE).await;
        Instance { address, process, pauses }
    }

    /// A client of this instance alone.
    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.address).await
    }
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_budget-server"))
}

/// What a caller knows after a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Done(Value),
    /// Failed, and nothing happened.
    Refused(Value),
    /// It may have happened.
    Unknown(String),
}

impl Answer {
    pub(crate) fn done(self) -> Value {
        let Answer::Done(value) = self else { panic!("not done: {self:?}") };
        value
    }

    pub(crate) fn refused(self) -> String {
        let Answer::Refused(value) = self else { panic!("not refused: {self:?}") };
        value["message"].as_str().unwrap().to_owned()
    }
}

/// A real MCP client.
pub(crate) struct Client(RunningService<RoleClient, ClientConfig>);

impl Client {
    pub(crate) async fn connect(address: &str) -> Client {
        let era = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        Client::connect_as(address, era).await
    }

    async fn connect_as(address: &str, era: ClientLifecycleMode) -> Client {
        let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{address}/"));
        let transport = StreamableHttpClientTransport::from_config(config);
        Client(ClientConfig::default().serve_with_lifecycle(transport, era).await.expect("the server answers"))
    }

    pub(crate) async fn tools(&self) -> Vec<String> {
        self.0.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> Answer {
        self.send(tool, arguments, None).await
    }

    /// A call that carries a key.
    pub(crate) async fn call_with_key(&self, tool: &'static str, arguments: Value, key: &str) -> Answer {
        self.send(tool, arguments, Some(json!(key))).await
    }

    /// Is the answer marked as that of an earlier call?
    pub(crate) async fn is_replayed(&self, tool: &'static str, arguments: Value, key: &str) -> bool {
        let result = self.0.call_tool(request(tool, arguments, Some(json!(key)))).await.unwrap();
        result.meta.is_some_and(|meta| meta.get("dev.stanchion/replayed") == Some(&json!(true)))
    }

    pub(crate) async fn send(&self, tool: &'static str, arguments: Value, key: Option<Value>) -> Answer {
        match self.0.call_tool(request(tool, arguments, key)).await {
            Ok(result) => {
                let value = result.structured_content.expect("every answer is structured");
                if result.is_error != Some(true) {
                    Answer::Done(value)
                } else if value["mayHaveExecuted"] == json!(false) {
                    Answer::Refused(value)
                } else {
                    Answer::Unknown(value.to_string())
                }
            }
            Err(e) => Answer::Unknown(e.to_string()),
        }
    }

    pub(crate) async fn balance(&self, table: &str, budget: &str) -> i64 {
        let arguments = json!({ "budget": budget, "table": table });
        self.call("get_budget", arguments).await.done()["balance"].as_i64().unwrap()
    }
}

fn request(tool: &'static str, arguments: Value, key: Option<Value>) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let mut request = CallToolRequestParams::new(tool).with_arguments(arguments);
    if let Some(key) = key {
        let mut meta = RequestMetaObject::default();
        meta.insert("dev.stanchion/idempotencyKey".to_owned(), key);
        request.meta = Some(meta);
    }
    request
}
