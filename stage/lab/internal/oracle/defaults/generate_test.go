package defaults

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const file = "../../builtin/defaults.json"

var record = flag.Bool("record", false, "write "+file)

// kinds are the kinds of a cluster in memory that kube-apiserver itself serves.
func kinds() (known []schema.GroupVersionKind) {
	for _, k := range memory.New(memory.Options{}).Kinds() {
		if legacyscheme.Scheme.Recognizes(k.GroupVersionKind) {
			known = append(known, k.GroupVersionKind)
		}
	}
	return known
}

// TestTheDataIsThatOfKubernetes checks that defaults.json is what the functions of Kubernetes
// return.
func TestTheDataIsThatOfKubernetes(t *testing.T) {
	data, err := Generate(kinds())
	require.NoError(t, err)
	made, err := data.Encode()
	require.NoError(t, err)
	if *record {
		require.NoError(t, os.WriteFile(file, made, 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(stored), string(made), "go test ./defaults -record writes it anew")
}
