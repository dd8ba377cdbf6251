package render

import (
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// FuzzMarshalYAML compares with the library, which goes by JSON.
func FuzzMarshalYAML(f *testing.F) {
	for _, s := range []string{
		`{"storage":"1Gi","cpu":"4","n":3,"f":1.5,"big":1e6,"y":"yes","no":false,"nil":null,"a10":1,"a9":2,"":"","e":"é","t":"2006-01-02","x":"0x10","m":"a: b","l":[[],{},["~"]]}`,
		`["- a","#","1_000","line\nbreak","<a>","true","null","1e3","0o7","=", "!x", "&a", "*a", "12:30"]`, `"x"`, `{"b":{"b":{"b":[]}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if utiljson.Unmarshal([]byte(text), &v) != nil {
			return
		}
		want, wantErr := yaml.Marshal(v)
		got, err := marshalYAML(v)
		require.Equal(t, wantErr, err)
		require.Equal(t, string(want), string(got))
	})
}
