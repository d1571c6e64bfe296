package conn

import (
	"os"
	"sync"
)

type Log struct {
	mu   sync.Mutex
	rows []string
}

func (l *Log) Dump(path string) error {
	l.mu.Lock()
	if len(l.rows) == 0 {
		l.mu.Unlock()
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		l.mu.Unlock()
		return err
	}
	_, err = f.WriteString(l.rows[0])
	l.mu.Unlock()
	return err
}

func (l *Log) Try(row string) bool {
	if !l.mu.TryLock() {
		return false
	}
	l.rows = append(l.rows, row)
	l.mu.Unlock()
	return true
}
