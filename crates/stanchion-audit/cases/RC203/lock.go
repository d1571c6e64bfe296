// deployment: cluster; also: RC202
package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func Do(ctx context.Context, rdb *redis.Client, name string, work func() error) error {
	ok, err := rdb.SetNX(ctx, name, "1", 0).Result() // expect: RC203
	if err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, name)
	return work()
}
