// also: RC302
package notes

import (
	"fmt"
	"os"
	"path/filepath"
)

const folder = "/srv/notes"

func Add(text []byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("note-%d.txt", len(entries)+1)
	return os.WriteFile(filepath.Join(folder, name), text, 0o644) // expect: RC301 read=13
}
