// also: RC101, RC302
package load

import (
	"encoding/json"
	"os"
)

func get(path string) map[string]string {
	all := map[string]string{}
	raw, err := os.ReadFile(path)
	if err != nil {
		return all
	}
	if json.Unmarshal(raw, &all) != nil {
		return map[string]string{}
	}
	return all
}

func Put(path, key, value string) error {
	all := get(path)
	all[key] = value
	raw, _ := json.Marshal(all)
	return os.WriteFile(path, raw, 0o644) // expect: RC304 read=11
}
