package shows

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

func Left(tx *sql.Tx, show string) (int, error) {
	var left int
	err := tx.QueryRow("SELECT places FROM shows WHERE id = $1 FOR UPDATE", show).Scan(&left)
	return left, err
}

func LeftOf(ctx context.Context, tx pgx.Tx, show string) (int, error) {
	var left int
	err := tx.QueryRow(ctx, "SELECT places FROM shows WHERE id = $1 FOR UPDATE", show).Scan(&left)
	return left, err
}
