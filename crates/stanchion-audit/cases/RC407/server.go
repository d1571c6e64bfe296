package main

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type args struct {
	Line string `json:"line"`
}

func add(ctx context.Context, req *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
	f, err := os.OpenFile("/data/log.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	_, err = f.WriteString(in.Line + "\n") // expect: RC407
	return &mcp.CallToolResult{}, nil, err
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "log", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, add)
	server.Run(context.Background(), &mcp.StdioTransport{})
}
