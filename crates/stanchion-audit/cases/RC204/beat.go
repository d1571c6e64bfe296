// deployment: cluster
package beat

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func Take(ctx context.Context, rdb *redis.Client, key, token string) (bool, error) {
	return rdb.SetNX(ctx, key, token, 30*time.Second).Result()
}

func Renew(ctx context.Context, rdb *redis.Client, key, token string) error {
	holder, err := rdb.Get(ctx, key).Result()
	if err != nil || holder != token {
		return err
	}
	return rdb.Expire(ctx, key, 30*time.Second).Err() // expect: RC204 read=16
}
