package shows

import (
	"context"
	"net/http"
)

type Row interface{ Scan(...any) error }

type Work interface {
	QueryRow(ctx context.Context, statement string, values ...any) Row
	Exec(ctx context.Context, statement string, values ...any) error
	Commit(ctx context.Context) error
}

type Store interface {
	Begin(ctx context.Context) (Work, error)
}

func Routes(store Store) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("/take", func(w http.ResponseWriter, r *http.Request) {
		tx, err := store.Begin(r.Context())
		if err != nil {
			return
		}
		var left int
		tx.QueryRow(r.Context(), "SELECT places FROM shows WHERE id = $1 FOR UPDATE", 7).Scan(&left)
		tx.Exec(r.Context(), "UPDATE shows SET places = $1 WHERE id = $2", left-1, 7)
		tx.Commit(r.Context())
	})
	return routes
}
