// deployment: cluster
package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func Do(ctx context.Context, rdb *redis.Client, name string, work func() error) error {
	ok, err := rdb.SetNX(ctx, "lock:"+name, "1", 30*time.Second).Result()
	if err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:"+name) // expect: RC202
	return work()
}
