package cache

import "sync"

type Limits struct {
	mu   sync.Mutex
	left map[string]int
}

func (l *Limits) of(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left[key]
}

func (l *Limits) Take(key string) int {
	left := l.of(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left[key] == left {
		l.left[key] = left - 1
	}
	return left
}

func (l *Limits) Set(key string, n int) {
	l.mu.Lock()
	l.left[key] = n
	l.mu.Unlock()
}

func (l *Limits) Add(key string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[key] = l.left[key] + n
}
