package quota

import (
	"context"
	"database/sql"
)

type Store struct{ db *sql.DB }

func (s *Store) Use(ctx context.Context, tenant string, n int) (int, error) {
	var used int
	row := s.db.QueryRowContext(ctx, "SELECT used FROM quotas WHERE tenant_id = $1", tenant)
	if err := row.Scan(&used); err != nil {
		return 0, err
	}
	used += n
	_, err := s.db.ExecContext(ctx, "UPDATE quotas SET used = $1 WHERE tenant_id = $2", used, tenant) // expect: RC102 read=12
	return used, err
}
