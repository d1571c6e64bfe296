use sqlx::{PgPool, Postgres, Row, Transaction};

pub async fn left(tx: &mut Transaction<'_, Postgres>, show: i64) -> i64 {
    sqlx::query("SELECT places FROM shows WHERE id = $1 FOR UPDATE").bind(show).fetch_one(&mut **tx).await.unwrap().get(0)
}

pub async fn take(pool: &PgPool, show: i64) {
    let mut tx = pool.begin().await.unwrap();
    let places = left(&mut tx, show).await;
    sqlx::query("UPDATE shows SET places = $1 WHERE id = $2").bind(places - 1).bind(show).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}
