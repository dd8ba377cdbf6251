package object_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

func TestAppendJSONWritesWhatMarshalWrites(t *testing.T) {
	wide := map[string]any{}
	for _, k := range strings.Split("qwertyuiopasdfghjklzxcvbnm", "") {
		wide[k] = k
	}
	awkward := map[string]any{}
	for i, k := range []string{"ab", "", "b", "a", "é", "B", "abc", "aa", "<", "_", "~"} {
		awkward[k] = int64(i)
	}
	for _, v := range []any{
		awkward, nil, true, int64(-7), 1.5, 1e21, "plain", "<a & \"b\">\n\u2028é\xff", `k:{"name":"web"}`, "{\"a\":\"b\\c\"}\n", `"`, `\`, "\"\t", "a\"\n<", []any(nil), map[string]any(nil), []any{}, map[string]any{}, wide,
		map[string]any{"b": []any{int64(1), nil, "x"}, "a": map[string]any{"<": false}}, []string{"other"}, json.Number("12"), map[string]string{"a": "b"},
	} {
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got, err := object.AppendJSON([]byte("x"), v)
		require.NoError(t, err)
		require.Equal(t, "x"+string(want), string(got))
	}
	for _, bad := range []any{math.NaN(), []any{func() {}}, map[string]any{"a": math.Inf(1)}} {
		_, err := object.AppendJSON(nil, bad)
		require.Error(t, err)
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Add(`{"a":[1,1.5,"x<",null,{"é":true}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got, err := object.AppendJSON(nil, v)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

func TestReadable(t *testing.T) {
	require.Equal(t, `{"a":["<b> & \\u003c",1]}`, object.Readable(map[string]any{"a": []any{`<b> & \u003c`, int64(1)}}))
	require.Equal(t, `"json: unsupported value: NaN"`, object.Readable(math.NaN()))
}
