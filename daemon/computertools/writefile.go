package computertools

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/daemon/policy"
)

type writeInput struct {
	target
	Path          string  `json:"path" jsonschema:"the file's path on the computer; its folders are made as needed"`
	Content       *string `json:"content,omitempty" jsonschema:"the file's text; give this or contentBase64"`
	ContentBase64 *string `json:"contentBase64,omitempty" jsonschema:"the file's bytes in base64; give this or content"`
	ExpectedHash  string  `json:"expectedSha256,omitempty" jsonschema:"the SHA-256 of what the file must hold now, as 64 hexadecimal digits, as read-file and write-file give it; if it holds something else, or is not there, nothing is written (mismatch, not_found)"`
	Mode          string  `json:"mode,omitempty" jsonschema:"write (the default) makes or replaces the file, append adds to its end, create fails if it exists"`
}

type writeOutput struct {
	OK      bool     `json:"ok" jsonschema:"whether the file holds what was given"`
	Path    string   `json:"path,omitempty" jsonschema:"the path as the computer understood it"`
	Bytes   int      `json:"bytes,omitempty" jsonschema:"how many bytes were written"`
	SHA256  string   `json:"sha256,omitempty" jsonschema:"the SHA-256 of what the file holds now; absent after append"`
	Existed bool     `json:"existed,omitempty" jsonschema:"whether the file was there before"`
	Error   *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) writeFile() tool {
	return define(sdk.Tool{
		Name:  "write-file",
		Title: "Write a file on a computer",
		Description: "Writes a file on the disk of a connected ComputerCraft computer, whole or not at all: " +
			"a write that fails leaves the old file as it was.",
		Annotations: changes(false),
	}, s.write,
		func(f Failure) writeOutput { return writeOutput{Error: &f} },
		writeText)
}

// writeReply is the payload of a computer's answer to write-file (gateway protocol, version 1).
type writeReply struct {
	outcome
	Path       string  `json:"path"`
	PathBase64 bytes64 `json:"pathBase64"`
	Bytes      int     `json:"bytes"`
	Existed    bool    `json:"existed"`
}

func (s *Server) write(ctx context.Context, in writeInput) (writeOutput, error) {
	data, err := in.data()
	if err != nil {
		return writeOutput{}, err
	}
	mode := firstWord(in.Mode, "write")
	if mode != "write" && mode != "append" && mode != "create" {
		return writeOutput{}, badRequest("mode must be write, append or create")
	}
	payload := map[string]any{"dataBase64": data, "mode": mode}
	putPath(payload, "path", in.Path)
	place := []policy.Path{{Name: in.Path}}
	d := deed{tool: "write-file", write: place, content: data, size: len(data), shown: data.text()}
	if in.ExpectedHash != "" {
		if _, err := hex.DecodeString(in.ExpectedHash); err != nil || len(in.ExpectedHash) != 2*sha256.Size {
			return writeOutput{}, badRequest("expectedSha256 must be 64 hexadecimal digits")
		}
		payload["expectedSha256"] = strings.ToLower(in.ExpectedHash)
		d.read = place // the answer tells what the file holds
	}
	var reply writeReply
	if _, err := s.carryOut(ctx, in.target, d, payload, &reply); err != nil {
		return writeOutput{}, err
	}
	out := writeOutput{
		OK: reply.OK, Path: either(reply.Path, reply.PathBase64), Bytes: reply.Bytes, Existed: reply.Existed, Error: reply.failure(),
	}
	if out.OK && mode != "append" {
		out.SHA256 = hashOf(data)
	}
	return out, nil
}

func (in *writeInput) data() (bytes64, error) {
	switch {
	case in.Content != nil && in.ContentBase64 != nil:
		return nil, badRequest("give content or contentBase64, not both")
	case in.Content != nil:
		return bytes64(*in.Content), nil
	case in.ContentBase64 != nil:
		data, err := base64.StdEncoding.DecodeString(*in.ContentBase64)
		if err != nil {
			return nil, badRequest("contentBase64 is not valid base64")
		}
		return data, nil
	}
	return nil, badRequest("give the file's content (text) or contentBase64 (bytes); an empty file is content \"\"")
}

func writeText(out writeOutput) string {
	if out.Error != nil {
		return failed(out.Error)
	}
	verb := "created"
	if out.Existed {
		verb = "written"
	}
	return fmt.Sprintf("%s %s, %d bytes", out.Path, verb, out.Bytes)
}
