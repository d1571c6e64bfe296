package vault

import (
	"encoding/json"
	"os"
)

type Records struct {
	All  map[string]string
	path string
}

func From(path string) (records Records, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return
	}
	err = json.Unmarshal(raw, &records)
	records.path = path
	return
}

func (r *Records) Write() error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path, raw, 0o644) // expect: RC302
}
