// also: RC302
package hall

import (
	"encoding/json"
	"os"
)

type Seat struct {
	State string
	Guest string
}

func Book(seat, guest string) (bool, error) {
	path := "/var/lib/hall/" + seat + ".json"
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	var kept Seat
	if err := json.Unmarshal(text, &kept); err != nil {
		return false, err
	}
	if kept.State != "free" {
		return false, nil
	}
	text, err = json.Marshal(Seat{State: "booked", Guest: guest})
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(path, text, 0o600) // expect: RC101 read=16
}
