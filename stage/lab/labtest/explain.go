package labtest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Explain says what the Stages of the lab do to an object as it is now, and why. For each Stage it
// has the requirements, the delay and the effects, as [stage.Explanation] prints them. If the lab
// plays no Stage on the object, Explain says why: [Lab.Drive] holds it, or it is a Pod without a
// node, or on a node whose kubelet does nothing. It fails the test if the object does not exist. It
// uses only kind, namespace and name of the object.
func (l *Lab) Explain(obj runtime.Object) string {
	l.t.Helper()
	u, err := kstatustest.Open(obj)
	l.must(err)
	stored, err := l.get(referenceOf(u))
	l.must(err)
	return l.explain(stored)
}

func (l *Lab) explain(obj *unstructured.Unstructured) string {
	switch {
	case l.holds(obj):
		return referenceOf(obj).String() + ": no Stage is played: Drive holds the object\n"
	case nodes.IsStopped(obj) && obj.GroupVersionKind() == nodeKind:
		return referenceOf(obj).String() + ": no Stage is played: its kubelet is stopped\n"
	case isBound(obj) && obj.GroupVersionKind() == pods && !l.hasKubelet(obj):
		return referenceOf(obj).String() + ": no Stage is played: its node is gone, or does not report\n"
	case l.runsInKubelet(obj):
		return referenceOf(obj).String() + ": no Stage is played: package stage/lab/controllers/kubelet does what the Pod says" + l.forEver(obj) + "\n"
	case !l.isPlayed(obj):
		return referenceOf(obj).String() + ": no Stage is played: the Pod has no node yet\n"
	}
	return l.set.Explain(obj, l.Now()).String()
}

// forEver names the containers that do not end by themselves.
func (l *Lab) forEver(pod *unstructured.Unstructured) string {
	names := kubelet.RunForEver(pod, l.options.Kubelets)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; these containers run until they are stopped: %s", strings.Join(names, ", "))
}

// hasKubelet reports whether the kubelet of the Node of a Pod does something.
func (l *Lab) hasKubelet(pod *unstructured.Unstructured) bool {
	runs := l.kubelet()
	if runs == nil {
		return true
	}
	name, _ := object.String(pod.Object, "spec", "nodeName")
	node, _ := l.get(reference{nodeKind, types.NamespacedName{Name: name}})
	return runs(node)
}

// stagesFor is the text of Explain for an object that is not Current, indented; "" for a kind
// without Stages.
func (l *Lab) stagesFor(obj *unstructured.Unstructured) string {
	if !slices.Contains(l.set.Kinds(), obj.GroupVersionKind()) {
		return ""
	}
	text := strings.TrimRight(l.explain(obj), "\n")
	return "\n    " + strings.ReplaceAll(strings.ReplaceAll(text, "\n\n", "\n"), "\n", "\n    ")
}
