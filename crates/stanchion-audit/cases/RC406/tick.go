// deployment: cluster
package main

import (
	"bytes"
	"net/http"
	"time"
)

func main() {
	for range time.Tick(time.Minute) {
		http.Post("https://chat.example/messages", "text/plain", bytes.NewReader([]byte("tick"))) // expect: RC406
	}
}
