use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use redis::AsyncCommands as _;
use stanchion_testkit::engines::{Nats, Postgres, Redis};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, Rates, eventually, start_or_skip};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(20);

async fn redis(url: &str) -> redis::aio::MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn postgres(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn redis_and_proxy(server: &Redis) -> (FaultProxy, String) {
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let url = server.url_at(proxy.port());
    (proxy, url)
}

#[tokio::test]
async fn a_lost_reply_was_executed_by_redis() {
    let server = start_or_skip!(Redis);
    let (proxy, url) = redis_and_proxy(&server).await;
    let mut through = redis(&url).await;
    proxy.set_plan(Plan::first("INCR", Fault::LoseReply));
    let lost: redis::RedisResult<i64> = through.incr("n", 1).await;
    assert!(lost.is_err(), "{lost:?}");
    let value: i64 = redis(&server.url()).await.get("n").await.unwrap();
    assert_eq!(value, 1);
    assert_eq!(proxy.counts().lost_replies, 1);
}

#[tokio::test]
async fn a_lost_request_never_reached_redis_and_earlier_replies_arrive() {
    let server = start_or_skip!(Redis);
    let (proxy, url) = redis_and_proxy(&server).await;
    let through = redis(&url).await;
    proxy.set_plan(Plan::on(|request| match () {
        () if request.contains("LPUSH") => Fault::LoseRequest,
        () if request.contains("INCR") => Fault::DelayReply(Duration::from_millis(100)),
        () => Fault::Deliver,
    }));
    let (mut a, mut b) = (through.clone(), through);
    let (incremented, pushed) = tokio::join!(a.incr::<_, _, i64>("n", 1), b.lpush::<_, _, i64>("l", 1));
    assert_eq!(incremented.unwrap(), 1);
    assert!(pushed.is_err());
    let exists: bool = redis(&server.url()).await.exists("l").await.unwrap();
    assert!(!exists);
}

#[tokio::test]
async fn a_duplicate_runs_twice_and_answers_once() {
    let server = start_or_skip!(Redis);
    let (proxy, url) = redis_and_proxy(&server).await;
    let mut through = redis(&url).await;
    proxy.set_plan(Plan::first("INCR", Fault::Duplicate));
    assert_eq!(through.incr::<_, _, i64>("n", 1).await.unwrap(), 1);
    assert_eq!(through.get::<_, i64>("n").await.unwrap(), 2, "the next reply belongs to the next request");
}

#[tokio::test]
async fn delays_hold_requests_or_replies() {
    let server = start_or_skip!(Redis);
    let (proxy, url) = redis_and_proxy(&server).await;
    let mut through = redis(&url).await;
    let wait = Duration::from_millis(150);
    for (fault, seen_meanwhile) in [(Fault::Delay(wait), false), (Fault::DelayReply(wait), true)] {
        let key = format!("{fault:?}");
        proxy.set_plan(Plan::first("SET", fault));
        let start = Instant::now();
        let key_meanwhile = key.clone();
        let url = server.url();
        let meanwhile = async {
            let mut direct = redis(&url).await;
            tokio::time::sleep(wait / 3).await;
            direct.exists::<_, bool>(&key_meanwhile).await.unwrap()
        };
        let (set, seen) = tokio::join!(through.set::<_, _, ()>(&key, 1), meanwhile);
        set.unwrap();
        assert!(start.elapsed() >= wait);
        assert_eq!(seen, seen_meanwhile, "{fault:?}");
    }
}

#[tokio::test]
async fn subscriptions_pass_and_do_not_shift_replies() {
    use futures_util::StreamExt as _;
    let server = start_or_skip!(Redis);
    let (proxy, url) = redis_and_proxy(&server).await;
    let mut subscriber = redis::Client::open(url.as_str()).unwrap().get_async_pubsub().await.unwrap();
    subscriber.subscribe("c").await.unwrap();
    subscriber.psubscribe("d*").await.unwrap();
    let mut through = redis(&url).await;
    let receivers: i64 = through.publish("c", "hello").await.unwrap();
    assert_eq!(receivers, 1);
    let message = tokio::time::timeout(PATIENCE, subscriber.on_message().next()).await.unwrap().unwrap();
    assert_eq!(message.get_payload::<String>().unwrap(), "hello");
    subscriber.unsubscribe("c").await.unwrap();
    assert_eq!(proxy.counts().unparsed, 0);
}

#[tokio::test]
async fn a_blackhole_stalls_and_a_cut_breaks() {
    let server = start_or_skip!(Redis);
    let (proxy, url) = redis_and_proxy(&server).await;
    let mut through = TcpStream::connect(proxy.addr()).await.unwrap();
    let mut answer = [0; 7];
    proxy.blackhole(true);
    through.write_all(b"PING\r\n").await.unwrap();
    let stalled = tokio::time::timeout(Duration::from_millis(200), through.read_exact(&mut answer)).await;
    assert!(stalled.is_err());
    proxy.blackhole(false);
    tokio::time::timeout(PATIENCE, through.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
    proxy.cut_all();
    let end = tokio::time::timeout(PATIENCE, through.read(&mut answer)).await.unwrap();
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    redis(&url).await;
}

/// Sends `INCR n` until `rounds` were tried, on a new connection after each failure.
async fn increment(proxy: &FaultProxy, rounds: usize) -> i64 {
    let mut acknowledged = 0;
    let mut connection: Option<TcpStream> = None;
    for _ in 0..rounds {
        let mut stream = match connection.take() {
            Some(stream) => stream,
            None => TcpStream::connect(proxy.addr()).await.unwrap(),
        };
        let answered = async {
            stream.write_all(b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n").await?;
            while stream.read_u8().await? != b'\n' {}
            Ok::<_, std::io::Error>(())
        };
        if tokio::time::timeout(PATIENCE, answered).await.unwrap().is_ok() {
            acknowledged += 1;
            connection = Some(stream);
        }
    }
    acknowledged
}

#[tokio::test]
async fn under_seeded_faults_the_counts_explain_the_servers_state_exactly() {
    let server = start_or_skip!(Redis);
    let mut histories = Vec::new();
    for seed in [17, 17, 18] {
        let mut direct = redis(&server.url()).await;
        redis::cmd("DEL").arg("n").exec_async(&mut direct).await.unwrap();
        let (proxy, _) = redis_and_proxy(&server).await;
        let longest_delay = Duration::from_millis(2);
        let (lose_reply, lose_request, duplicate, reset) = (0.1, 0.1, 0.1, 0.1);
        let (delay, delay_reply) = (0.1, 0.1);
        let rates = Rates { lose_reply, lose_request, delay, delay_reply, duplicate, reset, longest_delay };
        proxy.set_plan(Plan::seeded(seed, rates));
        let acknowledged = increment(&proxy, 300).await;
        let counts = proxy.counts();
        let executed = counts.replies + counts.lost_replies + counts.duplicated;
        // The second copy of a last duplicate may still be on its way.
        eventually(PATIENCE, "the server has executed what was counted", || {
            let mut direct = direct.clone();
            async move { direct.get::<_, u64>("n").await.unwrap() >= executed }
        })
        .await;
        assert_eq!(direct.get::<_, u64>("n").await.unwrap(), executed, "{counts:?}");
        assert_eq!(counts.replies, acknowledged as u64);
        assert!(counts.lost_replies > 0 && counts.lost_requests > 0 && counts.resets > 0, "{counts:?}");
        histories.push(counts);
    }
    assert_eq!(histories[0], histories[1], "the same seed, the same faults");
    assert_ne!(histories[0], histories[2]);
}

#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_committed_and_a_lost_commit_is_not() {
    let server = start_or_skip!(Postgres);
    let direct = postgres(&server.url()).await;
    direct.batch_execute("CREATE TABLE t (n int)").await.unwrap();
    let proxy = FaultProxy::start(server.addr(), Protocol::Postgres).await;
    for (fault, rows) in [(Fault::LoseReply, 1_i64), (Fault::LoseRequest, 0)] {
        let mut through = postgres(&server.url_at(proxy.port())).await;
        direct.batch_execute("DELETE FROM t").await.unwrap();
        proxy.set_plan(Plan::first("COMMIT", fault));
        let transaction = through.transaction().await.unwrap();
        transaction.execute("INSERT INTO t VALUES ($1)", &[&7_i32]).await.unwrap();
        assert!(transaction.commit().await.is_err());
        let count: i64 = direct.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0);
        assert_eq!(count, rows, "{fault:?}");
    }
    assert_eq!(proxy.counts().unparsed, 0);
}

#[tokio::test]
async fn a_duplicated_statement_runs_twice_on_postgres_and_the_connection_lives_on() {
    let server = start_or_skip!(Postgres);
    let proxy = FaultProxy::start(server.addr(), Protocol::Postgres).await;
    let through = postgres(&server.url_at(proxy.port())).await;
    through.batch_execute("CREATE TABLE t (n int)").await.unwrap();
    proxy.set_plan(Plan::first("INSERT", Fault::Duplicate));
    through.batch_execute("INSERT INTO t VALUES (1)").await.unwrap();
    let count: i64 = through.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0);
    assert_eq!(count, 2);
    assert_eq!(proxy.counts().duplicated, 1);
}

#[tokio::test]
async fn a_password_login_passes_the_proxy() {
    let server = start_or_skip!(Postgres);
    let proxy = FaultProxy::start(server.addr(), Protocol::Postgres).await;
    let url = server.url_with_password("secret").replace(&server.port().to_string(), &proxy.port().to_string());
    let client = postgres(&url).await;
    assert_eq!(proxy.counts().requests, 0, "the login is not a request");
    client.batch_execute("SELECT 1").await.unwrap();
    assert_eq!(proxy.counts().requests, 1);
}

/// A client of NATS that asks one thing, over and over.
struct Asking(BufReader<std::net::TcpStream>);

impl Asking {
    fn connect(proxy: &FaultProxy) -> Self {
        let stream = std::net::TcpStream::connect(proxy.addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self(BufReader::new(stream));
        client.send("CONNECT {\"verbose\":false}\r\nSUB inbox.* 1\r\n");
        client
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Asks with answers to `inbox`, and returns the subject of the first answer.
    fn ask(&mut self, inbox: &str) -> String {
        self.send(&format!("PUB $JS.API.INFO {inbox} 0\r\n\r\n"));
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the connection was closed");
            if let Some(words) = line.strip_prefix("MSG ") {
                return words.split(' ').next().unwrap().to_owned();
            }
        }
    }
}

#[tokio::test]
async fn the_second_reply_of_a_doubled_request_is_the_one_that_is_swallowed() {
    let server = start_or_skip!(Nats);
    let proxy = FaultProxy::start(server.addr(), Protocol::Nats).await;
    let mut client = Asking::connect(&proxy);
    proxy.set_plan(Plan::first("inbox.first", Fault::Duplicate));
    assert_eq!(client.ask("inbox.first"), "inbox.first");
    assert_eq!(client.ask("inbox.second"), "inbox.second", "the reply of another request was taken for the copy's");
    assert_eq!(client.ask("inbox.third"), "inbox.third");
    assert_eq!((proxy.counts().duplicated, proxy.counts().replies), (1, 3));
}
