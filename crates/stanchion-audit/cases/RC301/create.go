package create

import (
	"errors"
	"os"
)

func Create(path string, data []byte) error {
	if _, err := os.Stat(path); err == nil {
		return errors.New("exists already")
	}
	return os.WriteFile(path, data, 0o644) // expect: RC301 read=9
}
