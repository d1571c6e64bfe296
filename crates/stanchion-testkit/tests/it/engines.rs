use std::path::Path;
use std::time::{Duration, Instant};

use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres, Redis, Valkey};
use stanchion_testkit::process::{self, Child};
use stanchion_testkit::{eventually, start_or_skip};

const PATIENCE: Duration = Duration::from_secs(20);

async fn redis(url: &str) -> redis::aio::MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn postgres(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn redis_starts_quickly_and_serves() {
    let start = Instant::now();
    let server = start_or_skip!(Redis);
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
    let mut connection = redis(&server.url()).await;
    redis::cmd("SET").arg("a").arg(1).exec_async(&mut connection).await.unwrap();
    assert!(server.version().starts_with(|c: char| c.is_ascii_digit()));
}

#[tokio::test]
async fn valkey_serves() {
    let server = start_or_skip!(Valkey);
    let info: String = redis::cmd("INFO").query_async(&mut redis(&server.url()).await).await.unwrap();
    assert!(info.contains(&format!("valkey_version:{}", server.version())), "{info}");
}

#[tokio::test]
async fn redis_with_a_password_refuses_without() {
    let Ok(server) = Redis::options().password("pw").try_start().await.map_err(|s| s.report()) else {
        return;
    };
    redis(&server.url()).await;
    let open = format!("redis://127.0.0.1:{}", server.port());
    let mut connection = redis(&open).await;
    let refused = redis::cmd("PING").exec_async(&mut connection).await;
    assert!(refused.unwrap_err().to_string().contains("NOAUTH"));
}

#[tokio::test]
async fn a_killed_redis_with_aof_comes_back_with_its_data_on_the_same_port() {
    let Ok(server) = Redis::options().aof(true).try_start().await.map_err(|s| s.report()) else {
        return;
    };
    let url = server.url();
    redis::cmd("SET").arg("a").arg(7).exec_async(&mut redis(&url).await).await.unwrap();
    let first = server.pid().unwrap();
    server.kill();
    assert!(!exists(first) && server.pid().is_none());
    server.restart().await;
    assert_eq!(server.url(), url);
    let kept: u32 = redis::cmd("GET").arg("a").query_async(&mut redis(&url).await).await.unwrap();
    assert_eq!(kept, 7);
}

#[tokio::test]
async fn a_paused_server_answers_only_after_it_is_resumed() {
    let server = start_or_skip!(Redis);
    let mut connection = redis(&server.url()).await;
    server.pause();
    let mut get = std::pin::pin!(async { redis::cmd("GET").arg("a").exec_async(&mut connection).await });
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut get).await.is_err());
    server.resume();
    tokio::time::timeout(PATIENCE, get).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_server_leaves_no_process_no_folder_and_no_listener() {
    let server = start_or_skip!(Redis);
    let (pid, dir, port) = (server.pid().unwrap(), server.dir().to_owned(), server.port());
    server.pause();
    drop(server);
    assert!(!exists(pid) && !dir.exists());
    assert!(std::net::TcpListener::bind(("127.0.0.1", port)).is_ok());
}

#[tokio::test]
async fn servers_die_with_a_test_process_that_is_killed() {
    let postgres = start_or_skip!(Postgres);
    let redis = start_or_skip!(Redis);
    if process::is_helper() {
        postgres.pause();
        let pids = [redis.pid().unwrap(), postgres.pid().unwrap()];
        println!("\nREADY {} {} {} {}", pids[0], pids[1], redis.dir().display(), postgres.dir().display());
        return std::future::pending().await;
    }
    let mut helper = Child::rerun_this_test();
    let line = helper.expect_line("READY", PATIENCE).await;
    let words: Vec<_> = line.split(' ').collect();
    let pids: Vec<u32> = words[..2].iter().map(|word| word.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| exists(*pid)));
    helper.kill();
    eventually(PATIENCE, "both servers are gone", || async { !pids.iter().any(|pid| exists(*pid)) }).await;
    let gone = || async { !words[2..].iter().any(|dir| Path::new(dir).exists()) };
    eventually(PATIENCE, "both folders are gone", gone).await;
}

#[tokio::test]
async fn a_server_outlives_the_thread_that_started_it() {
    let start = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Redis::try_start())
    };
    let server = match tokio::task::spawn_blocking(start).await.unwrap() {
        Ok(server) => server,
        Err(skip) => return skip.report(),
    };
    let ended = std::thread::spawn(|| ()).join();
    assert!(ended.is_ok());
    redis(&server.url()).await;
}

#[tokio::test]
async fn postgres_serves_and_checks_the_password_of_one_role() {
    let server = start_or_skip!(Postgres);
    let client = postgres(&server.url()).await.unwrap();
    let version: String = client.query_one("SHOW server_version", &[]).await.unwrap().get(0);
    assert!(version.starts_with(server.version()), "{version}");
    assert!(postgres(&server.url_with_password("secret")).await.is_ok());
    let refused = postgres(&server.url_with_password("wrong")).await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("28P01"));
}

#[tokio::test]
async fn a_killed_postgres_comes_back_with_its_committed_rows() {
    let server = start_or_skip!(Postgres);
    let client = postgres(&server.url()).await.unwrap();
    client.batch_execute("CREATE TABLE t (n int); INSERT INTO t VALUES (7)").await.unwrap();
    server.kill();
    assert!(client.batch_execute("SELECT 1").await.is_err());
    server.restart().await;
    let client = postgres(&server.url()).await.unwrap();
    assert_eq!(client.query_one("SELECT n FROM t", &[]).await.unwrap().get::<_, i32>(0), 7);
    server.stop().await;
    server.restart().await;
    assert!(postgres(&server.url()).await.is_ok());
}

#[tokio::test]
async fn a_paused_postgres_freezes_open_connections_too() {
    let server = start_or_skip!(Postgres);
    let client = postgres(&server.url()).await.unwrap();
    server.pause();
    let mut query = std::pin::pin!(client.batch_execute("SELECT 1"));
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut query).await.is_err());
    server.resume();
    tokio::time::timeout(PATIENCE, query).await.unwrap().unwrap();
}

#[tokio::test]
async fn pgbouncer_in_transaction_mode_shares_one_backend_between_clients() {
    let server = start_or_skip!(Postgres);
    let pooler = match PgBouncer::try_start(&server, PoolMode::Transaction).await {
        Ok(pooler) => pooler,
        Err(skip) => return skip.report(),
    };
    let (a, b) = (postgres(&pooler.url()).await.unwrap(), postgres(&pooler.url()).await.unwrap());
    let backend = "SELECT pg_backend_pid()::text";
    let pid = async |client: &tokio_postgres::Client| match &client.simple_query(backend).await.unwrap()[1] {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(pid(&a).await, pid(&b).await, "idle clients do not keep their backend");
    a.batch_execute("BEGIN").await.unwrap();
    assert_ne!(pid(&a).await, pid(&b).await, "a transaction does");
}
