// deployment: cluster
package limit

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

type Limiter struct{ rdb *redis.Client }

func (l *Limiter) Allow(ctx context.Context, user string) (bool, error) {
	key := "limit:" + user
	raw, err := l.rdb.Get(ctx, key).Result()
	if err != nil && err != redis.Nil {
		return false, err
	}
	n, _ := strconv.Atoi(raw)
	if n >= 100 {
		return false, nil
	}
	return true, l.rdb.Set(ctx, key, n+1, 0).Err() // expect: RC103 read=15
}
