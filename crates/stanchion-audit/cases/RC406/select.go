// deployment: cluster
package main

import (
	"context"
	"net/http"
	"strings"
	"time"
)

func loop(ctx context.Context) {
	clock := time.NewTicker(time.Hour)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			http.Post("https://mail.example/digest", "text/plain", strings.NewReader("digest")) // expect: RC406
		}
	}
}

func main() {
	go loop(context.Background())
	select {}
}
