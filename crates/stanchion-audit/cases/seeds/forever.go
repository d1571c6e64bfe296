// bugs: the article's own wrong examples (no ttl, and a release without a look at the owner); deployment: cluster
package busy

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func Pack(ctx context.Context, client *redis.Client, order string, work func() error) error {
	mine, err := client.SetNX(ctx, "busy:"+order, "1", 0).Result() // expect: RC203
	if err != nil || !mine {
		return err
	}
	defer client.Del(ctx, "busy:"+order) // expect: RC202
	return work()
}
