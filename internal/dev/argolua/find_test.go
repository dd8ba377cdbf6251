package argolua_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus/argolua"
)

// healthOf runs the script for an object. It returns false without a script.
func healthOf(t *testing.T, scripts map[schema.GroupKind]*argolua.Script, obj *unstructured.Unstructured) (argolua.Health, bool) {
	script := scriptOf(scripts, obj.GroupVersionKind().GroupKind())
	if script == nil {
		return argolua.Health{}, false
	}
	before := obj.DeepCopy()
	h, err := script.Health(obj.Object, now)
	require.NoError(t, err, obj.GetKind())
	require.Equal(t, before, obj, "the object stays as it is")
	return h, true
}

func scriptOf(scripts map[schema.GroupKind]*argolua.Script, kind schema.GroupKind) *argolua.Script {
	if s := scripts[kind]; s != nil {
		return s
	}
	if s := scripts[schema.GroupKind{Group: kind.Group, Kind: "*"}]; s != nil {
		return s
	}
	for key, s := range scripts {
		if suffix, ok := strings.CutPrefix(key.Group, "*"); ok && strings.HasSuffix(kind.Group, suffix) && (key.Kind == "*" || key.Kind == kind.Kind) {
			return s
		}
	}
	return nil
}
