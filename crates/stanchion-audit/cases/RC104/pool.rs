use std::sync::Arc;
use tokio::sync::RwLock;

pub struct Budget {
    left: Arc<RwLock<u64>>,
}

impl Budget {
    async fn check(&self, amount: u64) -> bool {
        reqwest::get(format!("https://audit.example/{amount}")).await.is_ok()
    }

    pub async fn spend(&self, amount: u64) -> bool {
        let left = *self.left.read().await;
        if left < amount || !self.check(amount).await {
            return false;
        }
        *self.left.write().await = left - amount; // expect: RC104 read=14
        true
    }
}
