// also: RC302
package state

import (
	"encoding/json"
	"os"
	"sync"
)

type Store struct {
	mu   sync.Mutex
	path string
}

func (s *Store) Set(key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	all := map[string]string{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	all[key] = value
	raw, _ = json.Marshal(all)
	return os.WriteFile(s.path, raw, 0o600) // expect: RC201 read=18
}
