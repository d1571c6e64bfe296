// also: RC302
package rec

import (
	"encoding/json"
	"os"
)

type Index struct {
	name string
	all  map[string]string
}

func Open(file string) (*Index, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	return &Index{name: file, all: all}, nil
}

func (i *Index) Put(key, value string) error {
	i.all[key] = value
	raw, err := json.Marshal(i.all)
	if err != nil {
		return err
	}
	return os.WriteFile(i.name, raw, 0o644) // expect: RC107 read=15
}
