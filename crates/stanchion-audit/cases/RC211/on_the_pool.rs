// also: RC102
use sqlx::{PgPool, Row};

pub async fn take(pool: &PgPool, show: i64) {
    let places: i64 = sqlx::query("SELECT places FROM shows WHERE id = $1 FOR UPDATE").bind(show).fetch_one(pool).await.unwrap().get(0); // expect: RC211
    sqlx::query("UPDATE shows SET places = $1 WHERE id = $2").bind(places - 1).bind(show).execute(pool).await.unwrap();
}
