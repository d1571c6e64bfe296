use std::sync::Arc;
use tokio::sync::Mutex;

pub struct Seats {
    free: u64,
    names: Vec<String>,
}

pub async fn book(seats: &Arc<Mutex<Seats>>, name: String) {
    let mut seats = seats.lock().await;
    let free = seats.free;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    seats.names.push(name);
    seats.free = free - 1;
}

pub async fn one_less(seats: &Arc<Mutex<Seats>>) {
    seats.lock().await.free -= 1;
}

pub async fn told(seats: &Arc<Mutex<Seats>>) -> usize {
    let count = seats.lock().await.names.len();
    seats.lock().await.free = 0;
    count
}
