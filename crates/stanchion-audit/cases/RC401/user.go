package user

import (
	"context"
	"database/sql"
	"errors"
)

func Register(ctx context.Context, db *sql.DB, email string) error {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM users WHERE email = $1", email).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return errors.New("taken")
	}
	_, err := db.ExecContext(ctx, "INSERT INTO users (email) VALUES ($1)", email) // expect: RC401 read=11
	return err
}
