// also: RC403
package post

import (
	"bytes"
	"net/http"
	"time"
)

func Send(url string, body []byte) error {
	var last error
	for i := 0; i < 3; i++ {
		res, err := http.Post(url, "application/json", bytes.NewReader(body)) // expect: RC402
		if err == nil {
			return res.Body.Close()
		}
		last = err
		time.Sleep(time.Duration(i) * time.Second)
	}
	return last
}
