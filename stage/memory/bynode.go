package memory

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A nodeIndex has the Pods of each node: kubelets and controllers of Nodes list the Pods of one node.
// kube-apiserver has the same index. A table has none before the first such list.
type nodeIndex map[string]map[*record]struct{}

// fewPods is the number of Pods up to which a list looks at all of them.
const fewPods = 100

func nodeOf(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	node, _ := object.String(obj.Object, "spec", "nodeName")
	return node
}

func newNodeIndex(t *table) nodeIndex {
	i := nodeIndex{}
	for _, r := range t.records {
		i.move(r, "", nodeOf(r.object()))
	}
	return i
}

// move takes in that an object has another node; "" is none.
func (i nodeIndex) move(r *record, from, to string) {
	if i == nil || from == to {
		return
	}
	if delete(i[from], r); len(i[from]) == 0 {
		delete(i, from)
	}
	if to == "" {
		return
	}
	if i[to] == nil {
		i[to] = map[*record]struct{}{}
	}
	i[to][r] = struct{}{}
}

// onNode returns the records of a node in a namespace, in order. The namespace "" means all.
func (t *table) onNode(node, namespace string) (found []*record) {
	if t.byNode == nil {
		t.byNode = newNodeIndex(t)
	}
	for r := range t.byNode[node] {
		if namespace == "" || r.key.Namespace == namespace {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, byKey)
	return found
}

// node returns the node that a selection requires, or "".
func (s selection) node() string {
	for _, t := range s.fields {
		if len(t.path) == 2 && t.path[0] == "spec" && t.path[1] == "nodeName" && !t.not {
			return t.value
		}
	}
	return ""
}
