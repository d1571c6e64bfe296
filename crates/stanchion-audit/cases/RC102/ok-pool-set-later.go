package seats

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
)

var pool *pgxpool.Pool

var ledger *sql.DB

func Take(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	tx, err := pool.Begin(ctx)
	if err != nil {
		return
	}
	defer tx.Rollback(ctx)
	var left int
	tx.QueryRow(ctx, "SELECT places FROM shows WHERE id = $1 FOR UPDATE", r.FormValue("show")).Scan(&left)
	tx.Exec(ctx, "UPDATE shows SET places = $1 WHERE id = $2", left-1, r.FormValue("show"))
	tx.Commit(ctx)
}

func Pay(w http.ResponseWriter, r *http.Request) {
	tx, err := ledger.BeginTx(r.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return
	}
	defer tx.Rollback()
	var sum int
	if err := tx.QueryRow("SELECT sum FROM accounts WHERE id = $1", r.FormValue("account")).Scan(&sum); err != nil {
		return
	}
	if _, err := tx.Exec("UPDATE accounts SET sum = $1 WHERE id = $2", sum-1, r.FormValue("account")); err != nil {
		return
	}
	tx.Commit()
}

func main() {
	pool, _ = pgxpool.New(context.Background(), "")
	ledger, _ = sql.Open("postgres", "")
	http.HandleFunc("/take", Take)
	http.HandleFunc("/pay", Pay)
	http.ListenAndServe(":8080", nil)
}
