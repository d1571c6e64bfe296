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
	var all []Note
	return all, json.Unmarshal(data, &all)
}

func Add(id int) error {
	all, err := load()
	if err != nil {
		return err
	}
	data, err := json.Marshal(append(all, Note{ID: id}))
	if err != nil {
		return err
	}
	return os.WriteFile("notes.json", data, 0o600) // expect: RC101 read=12
}
