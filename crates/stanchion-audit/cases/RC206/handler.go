package handler

import (
	"net/http"
	"sync"
)

var hits = map[string]int{}

func Count(w http.ResponseWriter, r *http.Request) {
	var mu sync.Mutex
	mu.Lock() // expect: RC206
	defer mu.Unlock()
	hits[r.URL.Path] = hits[r.URL.Path] + 1
	w.WriteHeader(http.StatusNoContent)
}
