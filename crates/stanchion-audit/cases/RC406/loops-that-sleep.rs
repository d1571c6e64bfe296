// deployment: cluster
use std::time::Duration;

async fn digest(client: reqwest::Client) {
    let mut clock = tokio::time::interval(Duration::from_secs(3600));
    loop {
        clock.tick().await;
        let _ = client.post("https://mail.example/digest").body("digest").send().await; // expect: RC406
    }
}

async fn report(client: reqwest::Client) {
    loop {
        let _ = client.post("https://chat.example/messages").body("report").send().await; // expect: RC406
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

#[tokio::main]
async fn main() {
    tokio::spawn(digest(reqwest::Client::new()));
    report(reqwest::Client::new()).await;
}
