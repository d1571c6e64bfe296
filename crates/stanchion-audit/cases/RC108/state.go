// also: RC107, RC302
package state

import (
	"encoding/json"
	"os"
	"sync"
)

type State struct {
	mu   sync.Mutex
	path string
	data map[string]string
}

func (s *State) Load() error {
	raw, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &s.data)
}

func (s *State) Set(key, value string) {
	s.mu.Lock()
	s.data[key] = value
	raw, _ := json.Marshal(s.data)
	s.mu.Unlock()
	go os.WriteFile(s.path, raw, 0o644) // expect: RC108
}
