package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/mcp"
)

var eras = []string{mcp.Revision20251125, mcp.Revision20260728}

func connect(t *testing.T, b *bed, revision string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, options)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	transport := &sdk.StreamableClientTransport{Endpoint: b.url, HTTPClient: b.client}
	session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Logf("closing the client's session: %v", err)
		}
	})
	return session
}

func TestSDKClientListsAndCalls(t *testing.T) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			b := newBed(t, mcp.Options{Name: "traposd"}, mcp.Entry{ID: "c", Name: "", Server: echo, Tools: tools("exec-lua")},
				mcp.Entry{ID: "b", Name: "db", Server: echo, Tools: tools("query", "list tables")})
			session := connect(t, b, revision, nil)
			equal(t, "revision", session.InitializeResult().ProtocolVersion, revision)
			list, err := session.ListTools(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			equal(t, "names", fmt.Sprint(names), "[exec-lua db__query db__list_tables_"+fmt.Sprint(names[2][len("db__list_tables_"):])+"]")
			result, err := session.CallTool(context.Background(), &sdk.CallToolParams{
				Name: names[2], Arguments: map[string]any{"a": 1}, Meta: sdk.Meta{"x": "y"},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(result.StructuredContent)
			capabilities := "" // a 2026-07-28 client has them in every request, and there they stay
			if revision == mcp.Revision20260728 {
				capabilities = `"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}},`
			}
			equal(t, "what the server got", string(got),
				`{"method":"tools/call","params":{"_meta":{`+capabilities+`"x":"y"},"arguments":{"a":1},"name":"list tables"}}`)
		})
	}
}

func TestSDKClientGetsProgressInOrder(t *testing.T) {
	const steps = 200
	slow := serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
		if req.Progress == nil {
			return nil, errors.New("no progress is wanted")
		}
		for i := range steps {
			req.Progress(json.RawMessage(fmt.Sprintf(`{"progressToken":"upstream's own","progress":%d,"total":%d}`, i, steps)))
		}
		return json.RawMessage(`{"content":[]}`), nil
	})
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: slow, Tools: tools("t")})
			progress := make(chan float64, steps)
			session := connect(t, b, revision, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
					if fmt.Sprint(r.Params.ProgressToken) == "mine" {
						progress <- r.Params.Progress
					}
				},
			})
			params := &sdk.CallToolParams{Name: "s__t"}
			params.SetProgressToken("mine")
			if _, err := session.CallTool(context.Background(), params); err != nil {
				t.Fatal(err)
			}
			for i := range steps {
				select {
				case got := <-progress:
					equal(t, "progress", got, float64(i))
				case <-time.After(patience):
					t.Fatalf("progress %d did not come", i)
				}
			}
		})
	}
}

func TestSDKClientCancels(t *testing.T) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
				func(ctx context.Context, _ mcp.Request) (json.RawMessage, error) {
					close(started)
					<-ctx.Done()
					close(ended)
					return nil, context.Cause(ctx)
				})})
			session := connect(t, b, revision, nil)
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				<-started
				cancel()
			}()
			if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "s__t"}); !errors.Is(err, context.Canceled) {
				t.Errorf("the call's error is %v", err)
			}
			select {
			case <-ended:
			case <-time.After(patience):
				t.Error("the server was not told")
			}
		})
	}
}

func TestSDKClientHearsOfChangesOnce(t *testing.T) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			heard := make(chan string, 10)
			b := newBed(t, mcp.Options{}, mcp.Entry{ID: "a", Name: "a", Server: echo, Tools: tools("t")})
			session := connect(t, b, revision, &sdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { heard <- "tools" },
			})
			waitFor(t, "the client's stream", func() bool {
				for _, info := range b.Sessions() {
					if info.Streams > 0 {
						return true
					}
				}
				return false
			})
			for i := range 3 {
				name := fmt.Sprint("u", i)
				b.catalogue.Set([]mcp.Entry{{ID: "a", Name: "a", Server: echo, Tools: tools("t", name)}})
				select {
				case <-heard:
				case <-time.After(patience):
					t.Fatal("nothing was heard")
				}
				list, err := session.ListTools(context.Background(), nil)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "the second tool", list.Tools[1].Name, "a__"+name)
			}
			equal(t, "heard beside that", len(heard), 0)
		})
	}
}

func TestSDKClientIsAsked(t *testing.T) {
	asks := serverFunc(func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
		answer, err := req.Client.Request(ctx, "elicitation/create",
			json.RawMessage(`{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`))
		if err != nil {
			return nil, err
		}
		return json.RawMessage(`{"content":[],"structuredContent":` + string(answer) + `}`), nil
	})
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: asks, Tools: tools("t")})
			session := connect(t, b, revision, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": r.Params.Message}}, nil
				},
			})
			result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "s__t"})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(result.StructuredContent)
			equal(t, "the answer", string(got), `{"action":"accept","content":{"name":"who?"}}`)

			mute := connect(t, b, revision, nil)
			if _, err := mute.CallTool(context.Background(), &sdk.CallToolParams{Name: "s__t"}); err == nil {
				t.Error("a client that cannot be asked was asked")
			}
		})
	}
}
