package log

import "os"

type settings struct{ flags int }

func Add(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString(line)
	return err
}

func All(path string) ([]byte, error) {
	return os.ReadFile(path)
}
