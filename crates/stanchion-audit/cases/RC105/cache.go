package cache

import (
	"context"
	"sync"
)

type Cache struct {
	mu    sync.Mutex
	total map[string]int
}

func (c *Cache) get(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total[key]
}

func (c *Cache) put(key string, value int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total[key] = value // expect: RC105 read=16
}

func (c *Cache) Add(ctx context.Context, key string, n int) int {
	value := c.get(key) + n
	c.put(key, value)
	return value
}
