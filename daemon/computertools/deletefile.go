package computertools

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/daemon/policy"
)

type deleteInput struct {
	target
	Path      string `json:"path" jsonschema:"the path of the file or directory"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"delete a directory with everything in it; without it only an empty one goes"`
}

type deleteOutput struct {
	OK        bool     `json:"ok" jsonschema:"whether it is gone"`
	Path      string   `json:"path,omitempty" jsonschema:"the path as the computer understood it"`
	Directory bool     `json:"directory,omitempty" jsonschema:"whether it was a directory"`
	Error     *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) deleteFile() tool {
	return define(sdk.Tool{
		Name:        "delete-file",
		Title:       "Delete a file of a computer",
		Description: "Deletes a file, or a directory, from the disk of a connected ComputerCraft computer. There is no way back.",
		Annotations: changes(true),
	}, s.delete,
		func(f Failure) deleteOutput { return deleteOutput{Error: &f} },
		func(out deleteOutput) string {
			if out.Error != nil {
				return failed(out.Error)
			}
			return out.Path + " deleted"
		})
}

// deleteReply is the payload of a computer's answer to delete-file.
type deleteReply struct {
	outcome
	Path       string  `json:"path"`
	PathBase64 bytes64 `json:"pathBase64"`
	Directory  bool    `json:"directory"`
}

func (s *Server) delete(ctx context.Context, in deleteInput) (deleteOutput, error) {
	payload := map[string]any{"recursive": in.Recursive}
	putPath(payload, "path", in.Path)
	var reply deleteReply
	d := deed{tool: "delete-file", write: []policy.Path{{Name: in.Path, Below: in.Recursive}}}
	if _, err := s.carryOut(ctx, in.target, d, payload, &reply); err != nil {
		return deleteOutput{}, err
	}
	return deleteOutput{
		OK: reply.OK, Path: either(reply.Path, reply.PathBase64), Directory: reply.Directory, Error: reply.failure(),
	}, nil
}
