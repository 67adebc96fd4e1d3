package computertools

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/daemon/policy"
)

type moveInput struct {
	target
	From    string `json:"from" jsonschema:"the path of the file or directory"`
	To      string `json:"to" jsonschema:"its new path, name included"`
	Replace bool   `json:"replace,omitempty" jsonschema:"take the place of a file that is there; without it that is an error"`
}

type moveOutput struct {
	OK       bool     `json:"ok" jsonschema:"whether it was moved"`
	From     string   `json:"from,omitempty" jsonschema:"the old path as the computer understood it"`
	To       string   `json:"to,omitempty" jsonschema:"the new path as the computer understood it"`
	Replaced bool     `json:"replaced,omitempty" jsonschema:"whether it took the place of another file"`
	Error    *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) moveFile() tool {
	return define(sdk.Tool{
		Name:        "move-file",
		Title:       "Move a file of a computer",
		Description: "Moves or renames a file or directory on the disk of a connected ComputerCraft computer.",
		Annotations: changes(false),
	}, s.move,
		func(f Failure) moveOutput { return moveOutput{Error: &f} },
		func(out moveOutput) string {
			if out.Error != nil {
				return failed(out.Error)
			}
			return out.From + " moved to " + out.To
		})
}

// moveReply is the payload of a computer's answer to move-file.
type moveReply struct {
	outcome
	From       string  `json:"from"`
	FromBase64 bytes64 `json:"fromBase64"`
	To         string  `json:"to"`
	ToBase64   bytes64 `json:"toBase64"`
	Replaced   bool    `json:"replaced"`
}

func (s *Server) move(ctx context.Context, in moveInput) (moveOutput, error) {
	payload := map[string]any{"replace": in.Replace}
	putPath(payload, "from", in.From)
	putPath(payload, "to", in.To)
	var reply moveReply
	// What is moved away can be read where it comes to.
	from, to := policy.Path{Name: in.From, Below: true}, policy.Path{Name: in.To, Below: true}
	d := deed{tool: "move-file", read: []policy.Path{from}, write: []policy.Path{from, to}}
	if _, err := s.carryOut(ctx, in.target, d, payload, &reply); err != nil {
		return moveOutput{}, err
	}
	return moveOutput{
		OK: reply.OK, From: either(reply.From, reply.FromBase64), To: either(reply.To, reply.ToBase64),
		Replaced: reply.Replaced, Error: reply.failure(),
	}, nil
}
