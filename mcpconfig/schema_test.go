package mcpconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func TestSchemaKnowsOurKeys(t *testing.T) {
	var s struct {
		Required []string
		Defs     struct {
			Server struct {
				Properties map[string]struct {
					Type    any
					Enum    []any
					Maximum float64
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	got, want := slices.Sorted(maps.Keys(s.Defs.Server.Properties)), slices.Sorted(slices.Values(ownKeys))
	if !slices.Equal(got, want) || !slices.Equal(s.Required, []string{rootKey}) {
		t.Fatalf("the schema knows %v, the reader %v", got, want)
	}
	for _, word := range s.Defs.Server.Properties["type"].Enum {
		if text, ok := word.(string); ok && transportNamed(text) == 0 {
			t.Errorf("the reader does not know the type %s", text)
		}
	}
	if s.Defs.Server.Properties["timeout"].Maximum != maxTimeout {
		t.Error("the bounds of timeout differ")
	}
}
