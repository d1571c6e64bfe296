package rec

import "os"

type Archive struct {
	name string
	data []byte
}

func Load(file string) (*Archive, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return &Archive{name: file, data: raw}, nil
}

func (a *Archive) Set(data []byte) error {
	return os.WriteFile(a.name, data, 0o644) // expect: RC302
}
