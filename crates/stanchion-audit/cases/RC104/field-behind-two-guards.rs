use axum::{extract::State, routing::post, Router};
use std::sync::Arc;
use tokio::sync::Mutex;

#[derive(Default)]
struct Seats {
    free: u64,
}

async fn look(seats: &Arc<Mutex<Seats>>) -> u64 {
    seats.lock().await.free
}

async fn set(seats: &Arc<Mutex<Seats>>, free: u64) {
    seats.lock().await.free = free; // expect: RC104 read=11
}

async fn book(State(seats): State<Arc<Mutex<Seats>>>) -> String {
    let free = look(&seats).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    set(&seats, free - 1).await;
    free.to_string()
}

pub fn app() -> Router {
    Router::new().route("/", post(book)).with_state(Arc::new(Mutex::new(Seats::default())))
}
