//! "Is it ready?", asked in the server's own protocol: an open port alone is not yet a server.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) enum Probe {
    /// Consul: there is a leader.
    Consul,
    /// etcd: healthy, so it has a leader.
    Etcd,
    /// Redis and Valkey: any answer but "loading".
    Resp,
    /// PostgreSQL and its poolers: the start-up packet is accepted.
    Postgres,
    /// MySQL and MariaDB: the server greets.
    Mysql,
    /// NATS: the server introduces itself.
    Nats,
    /// ZooKeeper: it serves requests.
    ZooKeeper,
    /// dynalite: its health check answers.
    Dynalite,
    /// moto: it lists its buckets.
    Moto,
}

impl Probe {
    pub(super) async fn ready(self, port: u16) -> bool {
        let asked = async {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            match self {
                Probe::Consul => super::consul::led(port).await,
                Probe::Resp => resp(stream).await,
                Probe::ZooKeeper => Ok(zookeeper_says(stream).await?.starts_with("Zookeeper version")),
                Probe::Dynalite | Probe::Moto => http(stream).await,
                Probe::Postgres => postgres(stream).await,
                Probe::Etcd => super::etcd::healthy(stream).await,
                Probe::Mysql => mysql(stream).await,
                Probe::Nats => nats(stream).await,
            }
        };
        matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(true)))
    }
}

/// What a ZooKeeper server says of itself.
pub(super) async fn srvr(port: u16) -> std::io::Result<String> {
    zookeeper_says(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?).await
}

async fn zookeeper_says(mut stream: TcpStream) -> std::io::Result<String> {
    stream.write_all(b"srvr").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn resp(mut stream: TcpStream) -> std::io::Result<bool> {
    stream.write_all(b"PING\r\n").await?;
    let mut answer = [0; 8];
    let n = stream.read(&mut answer).await?;
    Ok(answer[..n].starts_with(b"+PONG") || answer[..n].starts_with(b"-NOAUTH"))
}

async fn nats(mut stream: TcpStream) -> std::io::Result<bool> {
    let mut greeting = [0; 5];
    stream.read_exact(&mut greeting).await?;
    Ok(&greeting == b"INFO ")
}

async fn postgres(mut stream: TcpStream) -> std::io::Result<bool> {
    let parameters = b"user\0postgres\0database\0postgres\0\0";
    let mut packet = (parameters.len() as u32 + 8).to_be_bytes().to_vec();
    packet.extend(196_608_u32.to_be_bytes()); // protocol 3.0
    packet.extend(parameters);
    stream.write_all(&packet).await?;
    // 'R' is the authentication request; a server that is still starting answers 'E'.
    if stream.read_u8().await? != b'R' {
        return Ok(false);
    }
    stream.write_all(&[b'X', 0, 0, 0, 4]).await?;
    Ok(true)
}

async fn mysql(mut stream: TcpStream) -> std::io::Result<bool> {
    // Three bytes of length, a sequence number, and the protocol's version; an error would be 255.
    let mut head = [0; 5];
    stream.read_exact(&mut head).await?;
    Ok(head[4] == 10)
}

async fn http(mut stream: TcpStream) -> std::io::Result<bool> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await?;
    Ok(answer.ends_with(b" 200"))
}
