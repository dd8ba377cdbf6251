package position_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// What was released is read again: the same places, of a document and of a part of it.
func TestReleaseKeepsPlaces(t *testing.T) {
	docs, faults := position.Parse("a.yaml", []byte("a: 1\n---\nb:\n- c: {d: text}\n- {e: 1,\n   e: 2}\n"))
	require.Empty(t, faults)
	require.Len(t, docs, 2)
	doc := docs[1]
	part := doc.Sub("b[1]", doc.Value.(map[string]any)["b"].([]any)[1])
	places := func() (all []any) {
		for _, path := range []string{"", "b", "b[0].c.d", "b[1].e", "nowhere"} {
			all = append(all, doc.Locate(&position.Error{Path: path, Offset: -1}))
		}
		for _, e := range []*position.Error{{Path: "e", Offset: position.AtKey}, {Path: "nowhere", Offset: -1}} {
			all = append(all, part.Locate(e))
		}
		return append(all, len(doc.Duplicates()), len(part.Duplicates()))
	}
	want := places()
	for range 2 {
		doc.Release()
		part.Release()
		require.Nil(t, doc.Value)
		require.Equal(t, want, places())
	}
	part.Release()
	require.Equal(t, want, places())
	require.Equal(t, position.Position{File: "a.yaml", Line: 6, Column: 4}, part.Locate(&position.Error{Path: "e", Offset: position.AtKey}))
}
