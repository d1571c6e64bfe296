// What is in memory only is safe with the lock that comes with the struct.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type Visits struct {
	mu  sync.Mutex
	all map[string]int
}

func (v *Visits) Add(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.all[name]
	fmt.Println(name)
	v.all[name] = before + 1
	return v.all[name]
}

func main() {
	visits := &Visits{all: map[string]int{}}
	s := server.NewMCPServer("visits", "1.0.0")
	s.AddTool(mcp.NewTool("add"), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(visits.Add(req.GetString("name", "")))), nil
	})
	server.ServeStdio(s)
}
