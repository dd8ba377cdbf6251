package memory

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestPlainNamesAreThoseOfKubernetes(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, plain := range map[string]bool{
		"a": true, "a.b": true, "a-b.0": true, long + "." + long: true, strings.Repeat("a.", 126) + "a": true,
		long + "a.b": false, strings.Repeat("a.", 127) + "a": false, "": false, "a..b": false, ".a": false, "a.": false, "-a.b": false,
		"a.b-": false, "a.B": false, "a_b": false, "a b": false, "ä": false,
	} {
		require.Equal(t, plain, isSubdomain(name), name)
		if plain {
			require.Empty(t, validation.IsDNS1123Subdomain(name), name)
		}
	}
}

func TestNamesThatAreNoTextAreNamed(t *testing.T) {
	for name, want := range map[any]string{
		false:    "metadata.name: Invalid value: false: it is the boolean false, as YAML 1.1 reads n, no, off, y, yes and on: quote it",
		int64(7): "metadata.name: Invalid value: 7: it is the number 7: quote it",
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": name}}}
		_, err := New(Options{}).Create(t.Context(), obj, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
}
