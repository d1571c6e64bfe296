//! "Is it ready?", asked in the server's own protocol: an open port alone is not yet a server.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) enum Probe {
    /// Redis and Valkey: any answer but "loading".
    Resp,
    /// PostgreSQL and its poolers: the start-up packet is accepted.
    Postgres,
}

impl Probe {
    pub(super) async fn ready(self, port: u16) -> bool {
        let asked = async {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            match self {
                Probe::Resp => resp(stream).await,
                Probe::Postgres => postgres(stream).await,
            }
        };
        matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(true)))
    }
}

async fn resp(mut stream: TcpStream) -> std::io::Result<bool> {
    stream.write_all(b"PING\r\n").await?;
    let mut answer = [0; 8];
    let n = stream.read(&mut answer).await?;
    Ok(answer[..n].starts_with(b"+PONG") || answer[..n].starts_with(b"-NOAUTH"))
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
