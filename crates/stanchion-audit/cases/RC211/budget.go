// also: RC102
package budget

import (
	"context"
	"database/sql"
)

func Spend(ctx context.Context, db *sql.DB, id string, amount int) error {
	var spent int
	err := db.QueryRowContext(ctx, "SELECT spent FROM budgets WHERE id = $1 FOR UPDATE", id).Scan(&spent) // expect: RC211
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "UPDATE budgets SET spent = $1 WHERE id = $2", spent+amount, id)
	return err
}
