package computertools

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/daemon/policy"
)

const (
	defaultListed = 500
	maxListed     = 2000 // a computer looks at no more; its disk of 1 MB has room for no more files
)

type listInput struct {
	target
	Path      string `json:"path,omitempty" jsonschema:"the directory; the root of the disk if left out"`
	Glob      string `json:"glob,omitempty" jsonschema:"list only what fits: * and ? within a name, ** across directories. Without a slash it is held against names, with one against paths below the directory; ** implies recursive"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"list what is in the directories below too; rom only if it is asked for itself"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many entries to list; 500 if left out, 2000 at most"`
}

// Listed is one file or directory.
type Listed struct {
	Path      string `json:"path" jsonschema:"the path on the computer"`
	Directory bool   `json:"directory,omitempty" jsonschema:"whether it is a directory"`
	Size      int    `json:"size" jsonschema:"the file's size in bytes, 0 for a directory"`
	ReadOnly  bool   `json:"readOnly,omitempty" jsonschema:"whether it cannot be changed"`
}

type listOutput struct {
	OK        bool     `json:"ok" jsonschema:"whether the directory could be listed"`
	Entries   []Listed `json:"entries" jsonschema:"what is there; empty if not ok"`
	Truncated bool     `json:"truncated,omitempty" jsonschema:"whether there is more; list a directory below, or use a glob"`
	Hidden    int      `json:"hidden,omitempty" jsonschema:"how many entries the policy of the service does not let be seen"`
	Free      *int     `json:"free,omitempty" jsonschema:"bytes free on the disk; absent if it does not say"`
	Capacity  *int     `json:"capacity,omitempty" jsonschema:"bytes that the disk holds; absent if it does not say"`
	Error     *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) listFiles() tool {
	return define(sdk.Tool{
		Name:        "list-files",
		Title:       "List files of a computer",
		Description: "Lists files and directories on the disk of a connected ComputerCraft computer, with sizes and the space that is free.",
		Annotations: reads(),
	}, s.list,
		func(f Failure) listOutput { return listOutput{Entries: []Listed{}, Error: &f} },
		listText)
}

// listReply is the payload of a computer's answer to list-files.
type listReply struct {
	outcome
	Entries []struct {
		Path       string  `json:"path"`
		PathBase64 bytes64 `json:"pathBase64"`
		Directory  bool    `json:"directory"`
		Size       int     `json:"size"`
		ReadOnly   bool    `json:"readOnly"`
	} `json:"entries"`
	Truncated bool `json:"truncated"`
	Free      *int `json:"free"`
	Capacity  *int `json:"capacity"`
}

func (s *Server) list(ctx context.Context, in listInput) (listOutput, error) {
	limit := in.Limit
	if limit == 0 {
		limit = defaultListed
	}
	if limit < 1 || limit > maxListed {
		return listOutput{}, badRequest("limit must be from 1 to %d", maxListed)
	}
	asked := limit
	var glob *regexp.Regexp
	if in.Glob != "" {
		var err error
		if glob, err = globOf(strings.TrimPrefix(in.Glob, "/"), "/"); err != nil {
			return listOutput{}, err
		}
		asked = maxListed // the computer counts before the pattern does
	}
	payload := map[string]any{"recursive": in.Recursive || strings.Contains(in.Glob, "**"), "limit": asked}
	if in.Path != "" {
		putPath(payload, "path", in.Path)
	}
	var reply listReply
	computer, err := s.carryOut(ctx, in.target, deed{tool: "list-files", read: []policy.Path{{Name: in.Path}}}, payload, &reply)
	if err != nil {
		return listOutput{}, err
	}
	rules := s.policy()
	out := listOutput{
		OK: reply.OK, Entries: []Listed{}, Truncated: reply.Truncated,
		Free: reply.Free, Capacity: reply.Capacity, Error: reply.failure(),
	}
	base := strings.Trim(path.Clean("/"+in.Path), "/")
	for _, e := range reply.Entries {
		entry := Listed{Path: either(e.Path, e.PathBase64), Directory: e.Directory, Size: e.Size, ReadOnly: e.ReadOnly}
		switch {
		case !rules.Shows(computer, firstWord(string(e.PathBase64), e.Path)):
			out.Hidden++
		case glob != nil && !glob.MatchString(compared(in.Glob, base, entry.Path)):
		case len(out.Entries) == limit:
			out.Truncated = true
		default:
			out.Entries = append(out.Entries, entry)
		}
	}
	return out, nil
}

// compared is the part of a path that a pattern is held against.
func compared(pattern, base, file string) string {
	if !strings.Contains(pattern, "/") && !strings.Contains(pattern, "**") {
		return path.Base(file)
	}
	return strings.TrimPrefix(strings.TrimPrefix(file, base), "/")
}

func listText(out listOutput) string {
	if out.Error != nil {
		return failed(out.Error)
	}
	var b strings.Builder
	for _, e := range out.Entries {
		if e.Directory {
			fmt.Fprintf(&b, "%s/\n", e.Path)
		} else {
			fmt.Fprintf(&b, "%s  %d\n", e.Path, e.Size)
		}
	}
	fmt.Fprintf(&b, "[%d entries", len(out.Entries))
	if out.Truncated {
		b.WriteString(", and more")
	}
	if out.Hidden > 0 {
		fmt.Fprintf(&b, "; %d hidden by the policy", out.Hidden)
	}
	if out.Free != nil {
		fmt.Fprintf(&b, "; %d bytes free", *out.Free)
	}
	b.WriteByte(']')
	return b.String()
}
