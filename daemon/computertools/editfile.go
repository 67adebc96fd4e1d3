package computertools

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/daemon/policy"
)

// maxReplaced bounds the places that one edit changes; a disk of 1 MB has no more bytes.
const maxReplaced = 1_000_000

type editInput struct {
	target
	Path  string `json:"path" jsonschema:"the file's path on the computer"`
	Old   string `json:"old" jsonschema:"the text to replace, exactly as the file has it; no patterns"`
	New   string `json:"new" jsonschema:"what stands there afterwards; empty deletes the text"`
	Count int    `json:"count,omitempty" jsonschema:"how many times the file has the text; 1 if left out. If it has it more or less often, nothing is changed"`
}

type editOutput struct {
	OK       bool     `json:"ok" jsonschema:"whether the file was changed"`
	Path     string   `json:"path,omitempty" jsonschema:"the path as the computer understood it"`
	Bytes    int      `json:"bytes,omitempty" jsonschema:"the size of the file now"`
	Replaced int      `json:"replaced,omitempty" jsonschema:"how many places were changed"`
	Error    *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) editFile() tool {
	return define(sdk.Tool{
		Name:  "edit-file",
		Title: "Edit a file of a computer",
		Description: "Replaces an exact text in a file on the disk of a connected ComputerCraft computer, in as many places as said, " +
			"or nothing at all: an edit that fails leaves the file as it was.",
		Annotations: changes(false),
	}, s.edit,
		func(f Failure) editOutput { return editOutput{Error: &f} },
		func(out editOutput) string {
			if out.Error != nil {
				return failed(out.Error)
			}
			return fmt.Sprintf("%s: %d replaced, %d bytes now", out.Path, out.Replaced, out.Bytes)
		})
}

// editReply is the payload of a computer's answer to edit-file.
type editReply struct {
	outcome
	Path       string  `json:"path"`
	PathBase64 bytes64 `json:"pathBase64"`
	Bytes      int     `json:"bytes"`
	Replaced   int     `json:"replaced"`
}

func (s *Server) edit(ctx context.Context, in editInput) (editOutput, error) {
	count := in.Count
	if count == 0 {
		count = 1
	}
	switch {
	case count < 1 || count > maxReplaced:
		return editOutput{}, badRequest("count must be from 1 to %d", maxReplaced)
	case in.Old == "":
		return editOutput{}, badRequest("old is empty: give the text to replace, or use write-file")
	}
	payload := map[string]any{"oldBase64": bytes64(in.Old), "newBase64": bytes64(in.New), "count": count}
	putPath(payload, "path", in.Path)
	var reply editReply
	d := deed{
		// It tells how often the file has the text, which is reading.
		tool: "edit-file", read: []policy.Path{{Name: in.Path}}, write: []policy.Path{{Name: in.Path}},
		content: []byte(in.New), size: len(in.New), shown: "replace:\n" + in.Old + "\nby:\n" + in.New,
	}
	if _, err := s.carryOut(ctx, in.target, d, payload, &reply); err != nil {
		return editOutput{}, err
	}
	return editOutput{
		OK: reply.OK, Path: either(reply.Path, reply.PathBase64), Bytes: reply.Bytes, Replaced: reply.Replaced, Error: reply.failure(),
	}, nil
}
