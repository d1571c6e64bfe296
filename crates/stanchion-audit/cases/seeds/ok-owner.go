// right in the articles: a ttl, and a release that compares; deployment: cluster
package busy

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var free = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func Begin(ctx context.Context, client *redis.Client, order, me string) (bool, error) {
	return client.SetNX(ctx, "busy:"+order, me, 30*time.Second).Result()
}

func End(ctx context.Context, client *redis.Client, order, me string) error {
	return free.Run(ctx, client, []string{"busy:" + order}, me).Err()
}
