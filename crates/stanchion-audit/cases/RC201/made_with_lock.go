// also: RC303
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type Note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

type Store struct {
	mu   sync.Mutex
	path string
}

func NewStore(dir string) *Store { return &Store{path: filepath.Join(dir, "notes.json")} }

func (s *Store) load() ([]Note, error) {
	b, err := os.ReadFile(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var notes []Note
	return notes, json.Unmarshal(b, &notes)
}

func (s *Store) save(notes []Note) error {
	b, err := json.Marshal(notes)
	if err != nil {
		return err
	}
	tmp := s.path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, s.path) // expect: RC201 read=29
}

func (s *Store) Add(text string) (Note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes, err := s.load()
	if err != nil {
		return Note{}, err
	}
	n := Note{ID: len(notes) + 1, Text: text}
	return n, s.save(append(notes, n))
}

func main() {
	store := NewStore(os.Getenv("NOTES_DIR"))
	s := server.NewMCPServer("notes", "1.0.0")
	s.AddTool(mcp.NewTool("add"), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n, err := store.Add(req.GetString("text", ""))
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(n.Text), nil
	})
	server.ServeStdio(s)
}
