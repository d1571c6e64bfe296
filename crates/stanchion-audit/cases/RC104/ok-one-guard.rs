use tokio::sync::Mutex;

pub struct Budget {
    left: Mutex<u64>,
}

impl Budget {
    pub async fn spend(&self, amount: u64) -> bool {
        let mut left = self.left.lock().await;
        if *left < amount || reqwest::get("https://audit.example/").await.is_err() {
            return false;
        }
        *left = *left - amount;
        true
    }

    pub async fn reset(&self, amount: u64) {
        *self.left.lock().await = amount;
    }
}
