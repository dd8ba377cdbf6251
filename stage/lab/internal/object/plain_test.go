package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

func TestPlainHasTheTypesOfDecodedJSON(t *testing.T) {
	type named map[string]any
	type list []any
	type text string
	in := map[string]any{"a": list{named{"n": int32(1)}, text("t"), 1.5, nil, true}, "b": []any{map[string]any{"c": uint8(2)}}}
	_, err := object.Plain(in)
	require.EqualError(t, err, "b: [0]: c: uint8 is no type of JSON")
	delete(in, "b")
	out, err := object.Plain(in)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": []any{map[string]any{"n": int64(1)}, "t", 1.5, nil, true}}, out)
	in["a"].(list)[0].(named)["n"] = "changed"
	require.Equal(t, int64(1), out.(map[string]any)["a"].([]any)[0].(map[string]any)["n"], "it is a copy")
}
