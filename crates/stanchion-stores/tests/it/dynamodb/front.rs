//! A responder in front of the emulator, for answers that only Amazon gives. **The test's own**: it shows what we do with
//! such an answer, not that Amazon gives it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Status and body, or `None` to pass the request on.
type Decide = dyn Fn(&str, &str) -> Option<(u16, String)> + Send + Sync;

pub(super) struct Front {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Front {
    /// `decide` sees the operation's name and the body.
    pub(super) async fn start(
        upstream: SocketAddr,
        decide: impl Fn(&str, &str) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (noted, decide): (_, Arc<Decide>) = (Arc::clone(&asked), Arc::new(decide));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, upstream, Arc::clone(&noted), Arc::clone(&decide)));
            }
        });
        Self { port, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("dynamodb://test:test@stanchion?endpoint=http://127.0.0.1:{}&timeout=2s", self.port)
    }

    /// The operations so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// An error as DynamoDB writes it.
pub(super) fn error(status: u16, code: &str) -> Option<(u16, String)> {
    Some((status, format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"said by the test"}}"#)))
}

async fn serve(mut stream: TcpStream, upstream: SocketAddr, asked: Arc<Mutex<Vec<String>>>, decide: Arc<Decide>) {
    while let Some((head, body)) = message(&mut stream).await {
        let target = head.lines().find_map(|line| line.strip_prefix("x-amz-target: ")).unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        asked.lock().unwrap().push(operation.clone());
        let answer = match decide(&operation, &body) {
            Some((status, text)) => format!(
                "HTTP/1.1 {status} said\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            ),
            None => {
                let mut server = TcpStream::connect(upstream).await.unwrap();
                server.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                let Some((head, body)) = message(&mut server).await else { return };
                head + &body
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// One message of HTTP with a length: its head, and its body.
async fn message(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((format!("{head}\r\n\r\n"), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
