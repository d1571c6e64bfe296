// deployment: cluster
package main

import (
	"net/http"
	"strings"
	"time"
)

func digest() {
	for {
		http.Post("https://mail.example/digest", "text/plain", strings.NewReader("digest")) // expect: RC406
		time.Sleep(time.Hour)
	}
}

func main() {
	go digest()
	select {}
}
