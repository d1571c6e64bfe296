// also: RC101, RC302
package load

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

func get(path string) (map[string]string, error) {
	all := map[string]string{}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	return all, nil
}

func Put(path, key, value string) error {
	all, err := get(path)
	if err != nil {
		return err
	}
	all[key] = value
	raw, _ := json.Marshal(all)
	return os.WriteFile(path, raw, 0o644)
}
