// also: RC302
package roster

import (
	"encoding/json"
	"os"
)

type Roster struct {
	Names []string
	Shift int
}

const path = "/var/lib/crew/roster.json"

func Known() (*Roster, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all Roster
	err = json.Unmarshal(text, &all)
	return &all, err
}

func Put(names []string) error {
	all, err := Known()
	if err != nil {
		return err
	}
	all.Names = names
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600) // expect: RC101 read=27
}

func Hire(name string) error {
	mine, err := Known()
	if err != nil {
		return err
	}
	return Put(append(mine.Names, name)) // expect: RC101 read=40
}
