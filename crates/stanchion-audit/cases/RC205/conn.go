package conn

import (
	"errors"
	"sync"
)

type Table struct {
	mu   sync.Mutex
	rows map[string]string
}

func (t *Table) Rename(from, to string) error {
	t.mu.Lock()
	value, ok := t.rows[from]
	if !ok {
		return errors.New("no such row")
	}
	delete(t.rows, from)
	t.rows[to] = value
	t.mu.Unlock() // expect: RC205 read=14
	return nil
}
