package wait_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// untouched is a cluster that no one may look into.
type untouched struct{ t *testing.T }

func (u untouched) List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	u.t.Error("something was looked for")
	return &unstructured.UnstructuredList{}, nil
}

func TestFaultsAreAnErrorAtOnce(t *testing.T) {
	gone := wait.Goal{Status: kstatus.NotFound}
	for _, c := range []struct {
		name   string
		refs   []wait.Ref
		policy wait.Policy
		want   string // after the first line
	}{
		{"an empty reference", []wait.Ref{{}}, wait.Policy{Goal: gone}, `
  refs[0] " ": no kind
  refs[0] " ": no version
  refs[0] " ": no name`},
		{"names that cannot be", []wait.Ref{web, pod("a/b"), pod(".."), {Kind: web.Kind, Namespace: "Shop", Name: "web"}}, wait.Policy{}, `
  refs[1] "Pod default/a/b": no object can have the name "a/b"
  refs[2] "Pod default/..": no object can have the name ".."
  refs[3] "Pod Shop/web": no namespace can have the name "Shop"`},
		{"goals that cannot be", []wait.Ref{web, config}, wait.Policy{
			Goal: wait.Goal{Status: "Ready"},
			Goals: map[wait.Ref]wait.Goal{
				web: {Status: kstatus.Unknown}, config: {Status: wait.NotSeen, Timeout: -time.Second}, secret: gone,
			},
		}, `
  policy.Goal.Status: "Ready" is none of ["Current" "NotFound" "InProgress" "Failed" "Terminating"]
  policy.Goals["ConfigMap default/config"].Status: "NotSeen" is none of ["Current" "NotFound" "InProgress" "Failed" "Terminating"]
  policy.Goals["ConfigMap default/config"].Timeout: -1s is negative
  policy.Goals["Pod default/web"].Status: "Unknown" is none of ["Current" "NotFound" "InProgress" "Failed" "Terminating"]
  policy.Goals["Secret default/secret"]: the object is not waited for`},
		{"negative times", nil, wait.Policy{Options: wait.Options{Interval: -1, Retry: -1}}, `
  policy.Interval: -1ns is negative
  policy.Retry: -1ns is negative`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := wait.For(t.Context(), untouched{t}, c.refs, c.policy)
			require.ErrorIs(t, err, wait.ErrInvalid)
			require.EqualError(t, err, "cannot wait:"+c.want)
			_, err = wait.NewCollector(c.refs, c.policy)
			require.EqualError(t, err, "cannot wait:"+c.want)
		})
	}
}

func TestEventsOfNothing(t *testing.T) {
	_, err := wait.Events(t.Context(), nil, []wait.Ref{{Kind: web.Kind}}, wait.Options{})
	require.EqualError(t, err, "cannot wait:\n  refs[0] \"Pod \": no name\n  no transport")
	require.ErrorIs(t, wait.For(t.Context(), nil, nil, wait.Policy{}), wait.ErrInvalid)
}

// The statuses that rules return can be waited for, be they good or not.
func TestGoals(t *testing.T) {
	for status, rest := range map[kstatus.Status]string{kstatus.Failed: podCrashes, kstatus.InProgress: podUnready, kstatus.Current: podReady} {
		w := world{t, memory.New(memory.Options{})}
		w.create(manifest(web, "status: "+rest))
		require.NoError(t, wait.For(t.Context(), w.Cluster, []wait.Ref{web}, wait.Policy{Goal: wait.Goal{Status: status}, FailFast: true}), status)
	}
}
