// deployment: cluster; also: RC202
package pay

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

func Pay(ctx context.Context, rdb *redis.Client, key string, body []byte) error {
	ok, err := rdb.SetNX(ctx, "idem:"+key, "begun", 24*time.Hour).Result()
	if err != nil || !ok {
		return err
	}
	res, err := http.Post("https://pay.example/charges", "application/json", bytes.NewReader(body))
	if err != nil {
		rdb.Del(ctx, "idem:"+key) // expect: RC404 read=18
		return err
	}
	return res.Body.Close()
}
