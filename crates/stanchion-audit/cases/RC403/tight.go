package tight

import "net/http"

func Get(url string) (*http.Response, error) {
	for {
		res, err := http.Get(url) // expect: RC403
		if err == nil {
			return res, nil
		}
	}
}
