// also: RC102
package docs

import (
	"context"
	"database/sql"
	"errors"
)

var ErrConflict = errors.New("conflict")

func Save(ctx context.Context, db *sql.DB, id, body string, expected int) error {
	var version int
	if err := db.QueryRowContext(ctx, "SELECT version FROM docs WHERE id = $1", id).Scan(&version); err != nil {
		return err
	}
	if version != expected {
		return ErrConflict
	}
	_, err := db.ExecContext(ctx, "UPDATE docs SET body = $1, version = $2 WHERE id = $3", body, version+1, id) // expect: RC106 read=14
	return err
}
