// deployment: cluster; also: RC202, RC103
package open

import (
	"context"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

func Add(ctx context.Context, rdb *redis.Client, user string, points int) error {
	if _, err := rdb.SetNX(ctx, "lock:"+user, "1", 5*time.Second).Result(); err != nil {
		log.Println("no lock, going on", err)
	}
	defer rdb.Del(ctx, "lock:"+user)
	old, err := rdb.Get(ctx, "points:"+user).Int()
	if err != nil {
		return err
	}
	return rdb.Set(ctx, "points:"+user, old+points, 0).Err() // expect: RC209 read=13
}
