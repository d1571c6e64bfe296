use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const PATIENCE: Duration = Duration::from_secs(20);
const REQUEST: &[u8] = b"POST /n HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi";

/// A server that counts requests and answers each with the count, in chunks.
async fn counting_server() -> (std::net::SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let counter = Arc::clone(&counter);
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut request = vec![0; REQUEST.len()];
                while stream.read_exact(&mut request).await.is_ok() {
                    assert_eq!(request, REQUEST);
                    let n = counter.fetch_add(1, Ordering::SeqCst) + 1;
                    let reply = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{n}\r\n0\r\n\r\n");
                    stream.write_all(reply.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (address, count)
}

/// One request; the number in its answer, or `None` if the connection broke.
async fn ask(stream: &mut BufReader<TcpStream>) -> Option<String> {
    stream.write_all(REQUEST).await.ok()?;
    let lines = async {
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line| line != "0\r\n") {
            let mut line = String::new();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            lines.push(line);
        }
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        lines.get(lines.len() - 2).map(|line| line.trim().to_owned())
    };
    tokio::time::timeout(PATIENCE, lines).await.unwrap()
}

async fn connect(proxy: &FaultProxy) -> BufReader<TcpStream> {
    BufReader::new(TcpStream::connect(proxy.addr()).await.unwrap())
}

#[tokio::test]
async fn a_lost_http_reply_was_executed_and_a_lost_request_was_not() {
    let (address, count) = counting_server().await;
    let proxy = FaultProxy::start(address, Protocol::Http).await;
    for fault in [Fault::LoseReply, Fault::LoseRequest, Fault::Reset] {
        proxy.set_plan(Plan::nth(0, fault));
        assert_eq!(ask(&mut connect(&proxy).await).await, None, "{fault:?}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{fault:?}");
    }
    assert_eq!(proxy.counts().unparsed, 0);
}

#[tokio::test]
async fn a_duplicated_http_request_runs_twice_and_answers_once() {
    let (address, _count) = counting_server().await;
    let proxy = FaultProxy::start(address, Protocol::Http).await;
    proxy.set_plan(Plan::nth(0, Fault::Duplicate));
    let mut stream = connect(&proxy).await;
    assert_eq!(ask(&mut stream).await.as_deref(), Some("1"));
    assert_eq!(ask(&mut stream).await.as_deref(), Some("3"), "the second copy was the second request");
}
