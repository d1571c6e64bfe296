// also: RC302
package main

import (
	"encoding/json"
	"os"
)

type Note struct{ ID int }

func load() ([]Note, error) {
	data, err := os.ReadFile("notes.json")
	if err != nil {
		return nil, err
	}
	var all, none []Note
	return none, json.Unmarshal(data, &all)
}

func Put(id int) error {
	none, err := load()
	if err != nil {
		return err
	}
	data, err := json.Marshal(append(none, Note{ID: id}))
	if err != nil {
		return err
	}
	return os.WriteFile("notes.json", data, 0o600)
}
