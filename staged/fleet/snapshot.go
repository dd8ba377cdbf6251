package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// SnapshotNamespace is the namespace of the objects in which snapshots are stored. Nothing there is
// workload.
const SnapshotNamespace = "stagecraft-revisions"

// A Snapshot is the workload at one moment: its objects as clusters receive them, and their
// identity.
type Snapshot struct {
	Revision RevisionID
	Objects  []*unstructured.Unstructured
}

// notDelivered are the fields of metadata that no cluster receives.
var notDelivered = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
	"managedFields", "ownerReferences", "finalizers", "selfLink", "generateName"}

// bookkeeping are the prefixes of labels and annotations that are not part of the workload.
var bookkeeping = []string{"kubectl.kubernetes.io/last-applied-configuration", "transport.kubestellar.io/", "control.kubestellar.io/",
	v1alpha1.Group + "/"}

// Deliver returns an object as a cluster receives it: without status, without what an API server
// adds, and without the bookkeeping of KubeStellar and of this module.
func Deliver(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	delete(out.Object, "status")
	metadata, _ := obj.Object["metadata"].(map[string]any)
	kept := maps.Clone(metadata)
	for _, name := range notDelivered {
		delete(kept, name)
	}
	for _, name := range []string{"labels", "annotations"} {
		values, _ := kept[name].(map[string]any)
		own := maps.Clone(values)
		maps.DeleteFunc(own, func(key string, _ any) bool {
			return slices.ContainsFunc(bookkeeping, func(p string) bool { return strings.HasPrefix(key, p) })
		})
		if delete(kept, name); len(own) > 0 {
			kept[name] = own
		}
	}
	if out.Object["metadata"] = kept; kept == nil {
		out.Object["metadata"] = map[string]any{}
	}
	return out
}

// NewSnapshot returns the snapshot of objects as their source holds them. The order of the objects
// does not matter. The error is that of an object that is no JSON.
func NewSnapshot(objects []*unstructured.Unstructured) (Snapshot, error) {
	s := Snapshot{Objects: make([]*unstructured.Unstructured, len(objects))}
	for i, obj := range objects {
		s.Objects[i] = Deliver(obj)
	}
	slices.SortFunc(s.Objects, func(a, b *unstructured.Unstructured) int {
		p, q := a.GroupVersionKind(), b.GroupVersionKind()
		return cmp.Or(cmp.Compare(p.Group, q.Group), cmp.Compare(p.Kind, q.Kind),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	data, err := s.Encode()
	if err != nil {
		return Snapshot{}, err
	}
	s.Revision = digest(data)
	return s, nil
}

// Encode returns the objects as canonical JSON: sorted keys, no space. Its hash is the revision.
func (s Snapshot) Encode() ([]byte, error) {
	list := make([]map[string]any, len(s.Objects))
	for i, obj := range s.Objects {
		list[i] = obj.Object
	}
	return json.Marshal(list)
}

// DecodeSnapshot reads what Encode returned. The error says that data is no snapshot of this
// revision.
func DecodeSnapshot(id RevisionID, data []byte) (Snapshot, error) {
	if got := digest(data); got != id {
		return Snapshot{}, fmt.Errorf("the snapshot of %s has the content of %s", id.Short(), got.Short())
	}
	var list []map[string]any
	if err := utiljson.Unmarshal(data, &list); err != nil { // it reads integers as int64, as objects have them
		return Snapshot{}, err
	}
	s := Snapshot{Revision: id}
	for _, fields := range list {
		s.Objects = append(s.Objects, &unstructured.Unstructured{Object: fields})
	}
	return s, nil
}

// Identify returns the revision of objects as their source holds them.
func Identify(objects []*unstructured.Unstructured) (RevisionID, error) {
	s, err := NewSnapshot(objects)
	return s.Revision, err
}

func digest(data []byte) RevisionID {
	sum := sha256.Sum256(data)
	return RevisionID("sha256:" + hex.EncodeToString(sum[:]))
}

// Short returns the first 12 digits of a revision.
func (r RevisionID) Short() string {
	text := strings.TrimPrefix(string(r), "sha256:")
	return text[:min(12, len(text))]
}
