package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	refusals = flag.String("refusals", "", "file to which differences of TestRefused… are written")
	bounds   = flag.Bool("bounds", false, "write testdata/refused")
)

// answerTo returns the answer of a server to a write, or "" if the server accepts it. The causes
// are sorted, and each is named once: a kube-apiserver repeats faults of metadata up to four times
// at an update. Only the first line of a cause is kept: the cause of a Pod continues with a
// comparison of Go values.
func answerTo(t *testing.T, err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &status):
		require.NoError(t, err)
	}
	s := status.Status()
	if s.Reason != metav1.StatusReasonInvalid {
		return fmt.Sprintf("%d %s %s", s.Code, s.Reason, uids.ReplaceAllString(s.Message, "UID"))
	}
	var causes []string
	for _, c := range s.Details.Causes {
		message, _, _ := strings.Cut(c.Message, "\n")
		causes = append(causes, fmt.Sprintf("\n  %s %s: %s", c.Type, c.Field, uids.ReplaceAllString(message, "UID")))
	}
	slices.Sort(causes)
	return strings.Join(slices.Compact(causes), "")
}

// A kube-apiserver prints some values as it has them in Go, with fields in capitals: then values are
// not compared.
var (
	goValue = regexp.MustCompile(`value: [\[{].*"[A-Z][A-Za-z]+":`)
	values  = regexp.MustCompile(`value: [\[{].*[\]}]`)
)

func withoutValues(s string) string {
	lines := strings.Split(values.ReplaceAllString(s, "value: …"), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// A tally counts the answers to writes of one kind.
type tally struct{ cases, alike, otherwise, theirs, ours int }

// answers are the answers of two servers to the same writes.
type answers struct {
	kinds       map[string]*tally
	differences strings.Builder
}

func (a *answers) add(of fmt.Stringer, obj *unstructured.Unstructured, want, got string) {
	if goValue.MatchString(want) {
		want, got = withoutValues(want), withoutValues(got)
	}
	kind := obj.GroupVersionKind().GroupKind().String()
	n := a.kinds[kind]
	if n == nil {
		n = &tally{}
		a.kinds[kind] = n
	}
	class := ""
	switch {
	case want == got && want == "":
		return
	case want == got:
		n.alike++
	case want == "":
		class, n.ours = "only ours refuses it", n.ours+1
	case got == "":
		class, n.theirs = "only theirs refuses it", n.theirs+1
	default:
		class, n.otherwise = "other causes", n.otherwise+1
	}
	if want != "" {
		n.cases++
	}
	if want != got {
		fmt.Fprintf(&a.differences, "%s %s: %s: %s\n theirs %s\n ours   %s\n", kind, obj.GetName(), class, of, want, got)
	}
}

// hold logs the table, and compares it with the table in testdata/refused, whose numbers are
// bounds. At most onlyOurs objects may be refused by our server alone.
func (a *answers) hold(t *testing.T, name string, least, onlyOurs int) {
	var table bytes.Buffer
	var sum tally
	fmt.Fprintln(&table, "# kind: of so many refused objects, so many are refused with the same causes (TestRefused…; -args -bounds writes it)")
	for _, kind := range slices.Sorted(maps.Keys(a.kinds)) {
		n := a.kinds[kind]
		fmt.Fprintln(&table, kind, n.cases, n.alike)
		sum.cases, sum.alike, sum.otherwise, sum.theirs, sum.ours = sum.cases+n.cases, sum.alike+n.alike, sum.otherwise+n.otherwise, sum.theirs+n.theirs, sum.ours+n.ours
		t.Logf("%-50s refused %4d, same causes %4d, other causes %3d, only theirs %3d, only ours %d%s", kind, n.cases, n.alike, n.otherwise, n.theirs, n.ours, few(n.alike, least))
	}
	t.Logf("%-50s refused %4d, same causes %4d, other causes %3d, only theirs %3d, only ours %d", "all", sum.cases, sum.alike, sum.otherwise, sum.theirs, sum.ours)
	if *refusals != "" {
		require.NoError(t, os.WriteFile(*refusals, []byte(a.differences.String()), 0o644))
	}
	file := "testdata/refused/" + name + ".txt"
	if *bounds {
		require.NoError(t, os.WriteFile(file, table.Bytes(), 0o644))
	}
	a.compare(t, file)
	require.LessOrEqual(t, sum.ours, onlyOurs, "refused by ours alone")
}

func few(n, least int) string {
	if n < least {
		return fmt.Sprint(" (fewer than ", least, ")")
	}
	return ""
}

func (a *answers) compare(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var kind string
		var cases, alike int
		_, err := fmt.Sscan(line, &kind, &cases, &alike)
		require.NoError(t, err, line)
		n := a.kinds[kind]
		require.NotNil(t, n, kind)
		const spare = 2 // a FlowSchema may get its status while it is updated
		require.GreaterOrEqual(t, n.cases, cases-spare, "%s: objects that a kube-apiserver refuses", kind)
		require.GreaterOrEqual(t, n.alike, alike-spare, "%s: objects refused with the same causes", kind)
	}
}

// refusedServers are a kube-apiserver and the server in memory, with a namespace, and the objects of
// testdata/stored with names of their own.
func refusedServers(t *testing.T, prefix string) (theirs, ours *kube.Cluster, objects []*unstructured.Unstructured) {
	theirs, ours = newCluster(t), newMemoryServer(t)
	isNamespaced := map[string]bool{}
	for _, k := range memory.New(memory.Options{}).Kinds() {
		isNamespaced[k.GroupVersionKind.String()] = !k.ClusterScoped
	}
	for _, cluster := range []*kube.Cluster{theirs, ours} {
		createNamespace(t, cluster, "stored")
	}
	copyClasses(t, theirs, ours)
	for _, obj := range storedObjects(t) {
		if obj.GetKind() != "IPAddress" { // its name is an address
			obj.SetName(prefix + "-" + strings.ReplaceAll(obj.GetName(), ":", "-"))
		}
		if isNamespaced[obj.GroupVersionKind().String()] {
			obj.SetNamespace("stored")
		}
		objects = append(objects, obj)
	}
	return theirs, ours, objects
}

// TestRefusedObjects creates objects with one fault on a kube-apiserver and on the server in
// memory, and compares the answers.
func TestRefusedObjects(t *testing.T) {
	theirs, ours, objects := refusedServers(t, "refused")
	all, met := &answers{kinds: map[string]*tally{}}, map[string]bool{}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for _, obj := range objects {
		edits := editsOf(obj.Object, wrongValues)
		if kind := obj.GroupVersionKind().String(); !met[kind] {
			edits, met[kind] = slices.Concat(edits, wrongNames(), wrongMetadata()), true
		}
		for _, e := range edits {
			_, want := theirs.Create(t.Context(), e.of(obj), dry)
			_, got := ours.Create(t.Context(), e.of(obj), dry)
			all.add(e, obj, answerTo(t, want), answerTo(t, got))
		}
	}
	all.hold(t, "create", 20, 5) // node ports outside the range, which a kube-apiserver does not look at in a dry run
}

// TestRefusedUpdates changes one field of stored objects on a kube-apiserver and on the server in
// memory, and compares the answers.
func TestRefusedUpdates(t *testing.T) {
	theirs, ours, objects := refusedServers(t, "changed")
	all, met := &answers{kinds: map[string]*tally{}}, map[string]bool{}
	dry := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
	for _, obj := range objects {
		before, here := createOnBoth(t, obj, theirs, ours)
		edits := editsOf(withoutStatus(before), otherValues)
		if kind := obj.GroupVersionKind().String(); !met[kind] {
			edits, met[kind] = append(edits, wrongChanges()...), true
		}
		for _, e := range edits {
			_, want := theirs.Update(t.Context(), e.of(before), dry)
			for tries := 0; obj.GetKind() == "FlowSchema" && apierrors.IsConflict(want) && tries < 5; tries++ { // its status has been written
				before, want = theirs.Get(t.Context(), obj.GroupVersionKind(), types.NamespacedName{Name: obj.GetName()})
				require.NoError(t, want)
				_, want = theirs.Update(t.Context(), e.of(before), dry)
			}
			_, got := ours.Update(t.Context(), e.of(here), dry)
			all.add(e, obj, answerTo(t, want), answerTo(t, got))
		}
	}
	all.hold(t, "update", 10, 3) // node ports, as above
}

// wrongChanges are changes of metadata that a server refuses.
func wrongChanges() []edit {
	all := wrongMetadata()
	add := func(name string, value any) { all = append(all, edit{[]any{"metadata", name}, value}) }
	add("uid", "other")
	add("creationTimestamp", "2020-01-01T00:00:00Z")
	add("deletionTimestamp", "2020-01-01T00:00:00Z")
	add("deletionGracePeriodSeconds", int64(5))
	add("resourceVersion", "1")
	add("resourceVersion", "x")
	add("resourceVersion", missing{})
	add("namespace", "other")
	add("name", "other")
	return all
}

func withoutStatus(obj *unstructured.Unstructured) map[string]any {
	m := maps.Clone(obj.Object)
	delete(m, "status")
	return m
}

// createOnBoth creates an object on two servers and returns it as they store it. It is deleted from
// the first at the end: other tests look at all its objects.
func createOnBoth(t *testing.T, obj *unstructured.Unstructured, theirs, ours *kube.Cluster) (want, got *unstructured.Unstructured) {
	want, err := theirs.Create(t.Context(), obj.DeepCopy(), metav1.CreateOptions{})
	require.NoError(t, err, "%s %s", obj.GetKind(), obj.GetName())
	t.Cleanup(func() {
		name := types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()}
		require.NoError(t, theirs.Delete(context.Background(), want.GroupVersionKind(), name, metav1.DeleteOptions{}))
	})
	got, err = ours.Create(t.Context(), obj.DeepCopy(), metav1.CreateOptions{})
	require.NoError(t, err, "%s %s", obj.GetKind(), obj.GetName())
	for _, o := range []*unstructured.Unstructured{want, got} {
		o.SetManagedFields(nil)
	}
	return want, got
}
