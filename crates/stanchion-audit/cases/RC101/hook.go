// also: RC302
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

type entry struct {
	Session string `json:"session"`
	Count   int    `json:"count"`
}

type box struct{ path string }

func (b *box) p() (map[string]entry, error) {
	raw, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	all := map[string]entry{}
	return all, json.Unmarshal(raw, &all)
}

func (b *box) q(all map[string]entry) error {
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.path, raw, 0o644) // expect: RC101 read=18
}

func main() {
	home, _ := os.UserHomeDir()
	b := &box{path: filepath.Join(home, ".hooks", "sessions.json")}
	all, err := b.p()
	if err != nil {
		os.Exit(1)
	}
	id := os.Args[1]
	e := all[id]
	e.Count++
	all[id] = e
	if err := b.q(all); err != nil {
		os.Exit(1)
	}
}
