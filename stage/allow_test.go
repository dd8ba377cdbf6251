package stage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// takeover is what an adversary tried: a Stage for a namespace that makes its author cluster-admin.
const takeover = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: takeover}
spec:
  resourceRef: {kind: ConfigMap}
  selector: {}
  steps:
  - patch:
      template: '{data: {done: "yes"}}'
      impersonation: {username: someone}
  - apply:
      impersonation: {username: "system:admin"}
      template: |
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: takeover}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
  - apply:
      template: |
        apiVersion: v1
        kind: Secret
        metadata: {name: stolen, namespace: {{ .metadata.annotations.namespace | Quote }}}
`

func TestAllow(t *testing.T) {
	const group = ".rbac.authorization.k8s.io"
	for _, tc := range []struct {
		name   string
		allow  *stage.Allow
		refuse string // the faults
	}{
		{"everything", nil, ""},
		{"everything, said", &stage.Allow{Users: []string{"*"}, Apply: map[string][]string{"*": {"*"}}}, ""},
		{"nothing", &stage.Allow{}, `spec.steps[0].patch.impersonation.username: impersonation of "someone": not allowed here
spec.steps[1].apply: apply, which writes other objects: not allowed here
spec.steps[1].apply.impersonation.username: impersonation of "system:admin": not allowed here
spec.steps[2].apply: apply, which writes other objects: not allowed here`},
		{"some", &stage.Allow{Users: []string{"someone"}, Apply: map[string][]string{"Secret": nil}}, `spec.steps[1].apply: apply of ClusterRoleBinding` + group + `: not allowed here
spec.steps[1].apply.impersonation.username: impersonation of "system:admin": not allowed here`},
		{"another kind of the name", &stage.Allow{Users: []string{"*"}, Apply: map[string][]string{"Secret": nil, "ClusterRoleBinding.example.com": nil}},
			`spec.steps[1].apply: apply of ClusterRoleBinding` + group + `: not allowed here`},
		{"no stages for ConfigMaps", &stage.Allow{Users: []string{"*"}, Apply: map[string][]string{"*": nil}, Kinds: []string{"Pod"}},
			`spec.resourceRef: stages for ConfigMap: not allowed here`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := stage.Compile(stage.Options{Allow: tc.allow}, stage.Parse("s.yaml", []byte(takeover)))
			if tc.refuse == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, stage.ErrNotAllowed)
			var lines []string
			for _, e := range err.(stage.Errors) {
				require.NotZero(t, e.Position)
				lines = append(lines, e.Path+": "+e.Err.Error())
			}
			require.Equal(t, tc.refuse, strings.Join(lines, "\n"))
		})
	}
}

// The kind and namespace of an applied object can come from the played object: the rendered values
// count.
func TestAllowOfWhatIsRendered(t *testing.T) {
	const text = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: copy}
spec:
  resourceRef: {kind: ConfigMap}
  selector: {}
  steps:
  - apply:
      template: |
        apiVersion: v1
        kind: {{ .data.kind }}
        metadata:
          name: copy
          {{- with .data.namespace }}
          namespace: {{ . }}
          {{- end }}
`
	allow := stage.Allow{Apply: map[string][]string{"Secret": nil, "ConfigMap": {"shared"}}}
	set, err := stage.Compile(stage.Options{Allow: &allow}, stage.Parse("s.yaml", []byte(text)))
	require.NoError(t, err)
	for _, tc := range []struct{ kind, namespace, want string }{
		{"Secret", "", ""},
		{"Secret", "team-a", ""},
		{"Secret", "kube-system", `apply of Secret in namespace "kube-system": not allowed here`},
		{"Secret", "shared", `apply of Secret in namespace "shared": not allowed here`},
		{"ConfigMap", "shared", ""},
		{"ConfigMap", "kube-system", `apply of ConfigMap in namespace "kube-system": not allowed here`},
		{"Pod", "", "apply of Pod: not allowed here"},
		{"Secret\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding", "", "apply of RoleBinding.rbac.authorization.k8s.io: not allowed here"},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "team-a"},
			"data": map[string]any{"kind": tc.kind, "namespace": tc.namespace},
		}}
		tr, ok := set.Next(obj, time.Unix(0, 0), 0, 0)
		require.True(t, ok)
		effects, err := tr.Effects(obj, time.Unix(0, 0))
		if tc.want == "" {
			require.NoError(t, err)
			require.Len(t, effects, 1)
			continue
		}
		require.ErrorContains(t, err, tc.want)
		require.Empty(t, effects)
		var fault *stage.Error
		require.ErrorAs(t, err, &fault)
		require.Equal(t, "spec.steps[0].apply.template", fault.Path)
	}
}
