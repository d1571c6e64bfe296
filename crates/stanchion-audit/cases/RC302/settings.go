package persist

import "os"

type Settings struct{ Location string }

type File struct {
	settings *Settings
	blob     []byte
}

func open(settings *Settings) (*File, error) {
	file := &File{settings: settings}
	return file, file.load()
}

func (f *File) Store(blob []byte) error {
	return os.WriteFile(f.settings.Location, blob, 0o644) // expect: RC302
}

func (f *File) load() error {
	raw, err := os.ReadFile(f.settings.Location)
	f.blob = raw
	return err
}
