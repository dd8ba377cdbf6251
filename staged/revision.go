package staged

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

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Snapshot is the workload at one moment: its objects as clusters receive them, and their
// identity.
type Snapshot struct {
	Revision RevisionID
	Objects  []*unstructured.Unstructured
	// DigestOnly says that the objects are too large to be kept: the revision can be rolled out and
	// recognised, and not be gone back to.
	DigestOnly bool
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
		return Snapshot{}, fmt.Errorf("the snapshot of %s has the content of %s", id.short(), got.short())
	}
	var list []map[string]any
	if err := json.Unmarshal(data, &list); err != nil {
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

// short returns the first 12 digits of a revision.
func (r RevisionID) short() string {
	text := strings.TrimPrefix(string(r), "sha256:")
	return text[:min(12, len(text))]
}

// revisionName returns the name of a revision for people: its number, and the first digits.
func (d *decider) revisionName(id RevisionID) string {
	for _, r := range d.Status.Revisions {
		if r.ID == string(id) {
			return r.Name
		}
	}
	if id == "" {
		return "an unknown revision"
	}
	return id.short()
}

// noteRevision makes the newest revision the wanted one. A newer revision ends what the stages have
// begun with an older one; a cluster never waits for an older one.
func (d *decider) noteRevision() {
	s, id := &d.Status, d.seen.Workload.Revision
	if id == "" || string(id) == s.Wanted {
		return
	}
	if !slices.ContainsFunc(s.Revisions, func(r v1alpha1.Revision) bool { return r.ID == string(id) }) {
		last := int64(0)
		for _, r := range s.Revisions {
			last = max(last, r.Ordinal)
		}
		s.Revisions = append(slices.Clone(s.Revisions), v1alpha1.Revision{ID: string(id), Ordinal: last + 1, Name: fmt.Sprintf("r%d-%s", last+1, id.short())})
	}
	was := RevisionID(s.Wanted)
	s.Wanted = string(id)
	switch {
	case was == "" && s.ActiveStage == "":
	case d.policy.stagesUpdates():
		d.supersede(was, d.revisionName(id)+" is wanted")
	case was != "":
		d.renew(was, d.revisionName(id)+" is wanted")
	}
}

// supersede makes all stages begin again, because another revision is wanted.
func (d *decider) supersede(was RevisionID, why string) {
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		if !hasFailed(rec.Phase) && rec.CompletedAt == nil {
			d.endAttempt(rec, was, "Superseded", why)
		}
		suspend(rec)
		rec.Attempt = 1
	}
	for name, c := range d.ledger {
		if c.Back != d.Status.Wanted {
			c.Back = ""
		}
		if c.SetAside = ""; c.Desired == v1alpha1.Withdrawn {
			c.Desired = ""
		}
		d.ledger[name] = c
	}
	d.event("Normal", "NewRevision", "%s: beginning with stage %q again", why, d.policy.stages[0].Name)
}

// renew begins the soak of the active stage again with another revision, and ends failures: with
// updates AtOnce, clusters have the new revision already. Passed stages stay passed.
func (d *decider) renew(was RevisionID, why string) {
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		switch {
		case rec.CompletedAt != nil:
			continue
		case rec.Phase == v1alpha1.Progressing || rec.Phase == v1alpha1.Soaking:
			rec.Soak, rec.Waited, rec.StageWaited, rec.SatisfiedSince = nil, nil, nil, nil
			for n := range rec.Batches {
				b := &rec.Batches[n]
				b.Soak, b.Waited, b.SatisfiedSince, b.SetAside = nil, nil, nil, ""
			}
		case hasFailed(rec.Phase):
			suspend(rec)
		default:
			continue
		}
		rec.Attempt = 1
	}
	d.event("Normal", "RevisionChanged", "%s, and comes to all clusters at once", why)
}

// pruneRevisions forgets revisions that no record names, but for the newest.
func (d *decider) pruneRevisions() {
	needed := map[string]bool{d.Status.Wanted: true}
	for _, c := range d.ledger {
		needed[c.Desired], needed[c.Applied], needed[c.LastGood], needed[c.Prior], needed[c.Back] = true, true, true, true, true
	}
	for _, s := range d.Status.Stages {
		needed[s.FulfilledWith] = true
	}
	limit := d.policy.historyLimit()
	for n := len(d.Status.Revisions) - 1; n >= 0; n-- {
		if id := d.Status.Revisions[n].ID; !needed[id] && limit > 0 {
			needed[id] = true
			limit--
		}
	}
	d.Status.Revisions = slices.DeleteFunc(slices.Clone(d.Status.Revisions), func(r v1alpha1.Revision) bool { return !needed[r.ID] })
	for _, r := range d.Status.Revisions {
		d.Keep = append(d.Keep, RevisionID(r.ID))
	}
}

func (p *Policy) historyLimit() int {
	if r := p.object.Spec.Revisions; r != nil && r.HistoryLimit != nil {
		return int(*r.HistoryLimit)
	}
	return 5
}
