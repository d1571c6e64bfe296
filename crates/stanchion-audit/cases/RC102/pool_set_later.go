package seats

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
)

var pool *pgxpool.Pool

func Take(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	tx, err := pool.Begin(ctx)
	if err != nil {
		return
	}
	defer tx.Rollback(ctx)
	var left int
	tx.QueryRow(ctx, "SELECT places FROM shows WHERE id = $1", r.FormValue("show")).Scan(&left)
	tx.Exec(ctx, "UPDATE shows SET places = $1 WHERE id = $2", left-1, r.FormValue("show")) // expect: RC102 read=20
	tx.Commit(ctx)
}

func main() {
	pool, _ = pgxpool.New(context.Background(), "")
	http.HandleFunc("/take", Take)
	http.ListenAndServe(":8080", nil)
}
