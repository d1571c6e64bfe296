// also: RC302
package store

import (
	"encoding/json"
	"os"
)

type JSONFile struct{ Path string }

func (f JSONFile) Load() (map[string]string, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	err = json.Unmarshal(data, &all)
	return all, err
}

func (f JSONFile) Save(all map[string]string) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(f.Path, data, 0o600) // expect: RC101 read=12
}

type Service struct{ backend *JSONFile }

func (s *Service) Set(k, v string) error {
	all, err := s.backend.Load()
	if err != nil {
		return err
	}
	all[k] = v
	return s.backend.Save(all)
}
