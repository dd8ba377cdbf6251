package e2e_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var refusals = flag.String("refusals", "", "file to which differences of TestRefusedObjects are written")

// A mutant is an object with one fault, as they say.
type mutant struct {
	object *unstructured.Unstructured
	fault  string
}

// mutants are the objects that differ from one in one field: it is missing, or has a value that is
// often wrong; or an element of a list is there twice.
func mutants(obj *unstructured.Unstructured) (all []mutant) {
	var walk func(v any, at string, replace func(any) map[string]any)
	add := func(fault string, root map[string]any) {
		all = append(all, mutant{&unstructured.Unstructured{Object: root}, fault})
	}
	walk = func(v any, at string, replace func(any) map[string]any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if at == "" && (name == "apiVersion" || name == "kind") || at == ".metadata" {
					continue
				}
				missing := maps.Clone(v)
				delete(missing, name)
				add("no "+at+"."+name, replace(missing))
				walk(v[name], at+"."+name, func(e any) map[string]any {
					next := maps.Clone(v)
					next[name] = e
					return replace(next)
				})
			}
		case []any:
			add("twice "+at, replace(append(slices.Clone(v), v[0])))
			for i := range v {
				walk(v[i], fmt.Sprintf("%s[%d]", at, i), func(e any) map[string]any {
					next := slices.Clone(v)
					next[i] = e
					return replace(next)
				})
			}
		case string:
			for _, other := range []string{"", "Wrong Value!", "-1"} {
				add(fmt.Sprintf("%s is %q", at, other), replace(other))
			}
		case int64:
			for _, other := range []int64{-1, 0, 1 << 20} {
				add(fmt.Sprintf("%s is %d", at, other), replace(other))
			}
		}
	}
	walk(obj.Object, "", func(v any) map[string]any { return v.(map[string]any) })
	return all
}

// answerTo returns what a server says to an object, "" if it takes it.
func answerTo(t *testing.T, cluster *kube.Cluster, obj *unstructured.Unstructured) string {
	_, err := cluster.Create(t.Context(), obj.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &status):
		require.NoError(t, err)
	}
	s := status.Status()
	if s.Reason != metav1.StatusReasonInvalid {
		return fmt.Sprintf("%d %s %s", s.Code, s.Reason, s.Message)
	}
	var causes []string
	for _, c := range s.Details.Causes {
		causes = append(causes, fmt.Sprintf("\n  %s %s: %s", c.Type, c.Field, c.Message))
	}
	slices.Sort(causes)
	return strings.Join(causes, "")
}

// TestRefusedObjects creates objects with one fault on a kube-apiserver and on the server in memory,
// and compares what they say. The numbers are in the documentation of package validation.
func TestRefusedObjects(t *testing.T) {
	theirs, ours := newCluster(t), newMemoryServer(t)
	isNamespaced := map[string]bool{}
	for _, k := range memory.New(memory.Options{}).Kinds() {
		isNamespaced[k.GroupVersionKind.String()] = !k.ClusterScoped
	}
	for _, cluster := range []*kube.Cluster{theirs, ours} {
		createNamespace(t, cluster, "refused")
	}
	copyClasses(t, theirs, ours)
	counts, differences := map[string]int{}, &strings.Builder{}
	for _, obj := range storedObjects(t) {
		obj.SetName("refused-" + strings.ReplaceAll(obj.GetName(), ":", "-"))
		if isNamespaced[obj.GroupVersionKind().String()] {
			obj.SetNamespace("refused")
		}
		for _, m := range mutants(obj) {
			want, got := answerTo(t, theirs, m.object), answerTo(t, ours, m.object)
			class := classOfAnswers(want, got)
			counts[class]++
			if want != got {
				fmt.Fprintf(differences, "%s %s: %s: %s\n theirs %s\n ours   %s\n", obj.GetKind(), obj.GetName(), class, m.fault, want, got)
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%5d %s", counts[class], class)
	}
	if *refusals != "" {
		require.NoError(t, os.WriteFile(*refusals, []byte(differences.String()), 0o644))
	}
	require.GreaterOrEqual(t, counts["both refuse it, with the same causes"], 1271)
	require.LessOrEqual(t, counts["only theirs refuses it"], 202)
	require.LessOrEqual(t, counts["only ours refuses it"], 5, "node ports outside the range, which a kube-apiserver does not look at in a dry run")
}

func classOfAnswers(want, got string) string {
	switch {
	case want == got && want == "":
		return "both take it"
	case want == got:
		return "both refuse it, with the same causes"
	case want == "":
		return "only ours refuses it"
	case got == "":
		return "only theirs refuses it"
	}
	return "both refuse it, with other causes"
}
