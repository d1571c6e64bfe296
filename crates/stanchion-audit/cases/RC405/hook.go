// deployment: cluster; also: RC203
package hook

import (
	"bytes"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

var rdb = redis.NewClient(&redis.Options{})

func Hook(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Event-Id")
	fresh, err := rdb.SetNX(r.Context(), "evt:"+id, "1", 5*time.Minute).Result() // expect: RC405
	if err != nil || !fresh {
		w.WriteHeader(http.StatusOK)
		return
	}
	http.Post("https://ledger.example/credit", "application/json", bytes.NewReader([]byte(id)))
}

func main() {
	http.HandleFunc("/hook", Hook)
	http.ListenAndServe(":8080", nil)
}
