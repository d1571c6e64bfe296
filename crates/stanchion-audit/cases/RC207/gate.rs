use std::sync::Arc;
use tokio::sync::{Mutex, Notify};

pub struct Gate {
    busy: Mutex<bool>,
    done: Arc<Notify>,
}

impl Gate {
    pub async fn run<F: std::future::Future<Output = ()>>(&self, work: F) {
        if *self.busy.lock().await {
            self.done.notified().await;
        }
        *self.busy.lock().await = true; // expect: RC207 read=11
        work.await;
        *self.busy.lock().await = false;
        self.done.notify_waiters();
    }
}
