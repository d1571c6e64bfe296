// also: RC302
// Of two that fit, one keeps it in memory, and the other one is locked for as long as somebody changes it.
package store

import (
	"encoding/json"
	"os"
	"syscall"
)

type Backend interface {
	Change(change func(map[string]string)) error
	Close() error
}

type Memory struct{ all map[string]string }

func (m *Memory) Change(change func(map[string]string)) error {
	change(m.all)
	return nil
}

func (m *Memory) Close() error { return nil }

type File struct{ path string }

func (f *File) Change(change func(map[string]string)) error {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	all := map[string]string{}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	change(all)
	data, err = json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(f.path, data, 0o600)
}

func (f *File) Close() error { return nil }

type Service struct{ backend Backend }

func (s *Service) Set(key, value string) error {
	return s.backend.Change(func(all map[string]string) { all[key] = value })
}
