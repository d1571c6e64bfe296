// also: RC205
package lock

import (
	"context"
	"database/sql"
)

func Do(ctx context.Context, db *sql.DB, key int64, work func() error) error {
	if _, err := db.ExecContext(ctx, "SELECT pg_advisory_lock($1)", key); err != nil { // expect: RC210
		return err
	}
	defer db.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", key)
	return work()
}
