package workloads

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// sameTemplate compares the template of a Deployment with the template of a ReplicaSet, which also
// has the hash.
func sameTemplate(template, other map[string]any) bool {
	return object.DeepEqual(withLabel(template, templateHash, ""), withLabel(other, templateHash, ""))
}

// withLabel returns a template with a label, or without it if the value is "".
func withLabel(template map[string]any, key, value string) map[string]any {
	metadata, labels := fields.CloneMap(template, "metadata"), fields.CloneMap(template, "metadata", "labels")
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	metadata["labels"] = labels
	template = fields.CloneMap(template)
	template["metadata"] = metadata
	return template
}

// hashOf returns a short name for a template. It is another one than on a cluster, where a Go value
// is hashed.
func hashOf(template map[string]any, collisions any) (string, error) {
	data, err := object.AppendJSON(nil, template)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write(data)
	if n, ok := object.ToInt64(collisions); ok {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}

func revisionOf(rs *unstructured.Unstructured) int64 {
	n, _ := strconv.ParseInt(fields.Annotation(rs, revisionKey), 10, 64)
	return n
}

// nextRevision returns one more than the highest revision of the old ReplicaSets.
func (r *rollout) nextRevision() (n int64) {
	for _, rs := range r.oldRSs {
		n = max(n, revisionOf(rs))
	}
	return n + 1
}

// updateNewRS brings annotations and minReadySeconds of the new ReplicaSet up to date. Going back
// to an old template makes its revision the latest.
func (r *rollout) updateNewRS() error {
	if r.newRS == nil {
		return nil
	}
	if r.spec.deadline > 0 && r.conditions.Find("Progressing") == nil {
		r.setProgressing("True", "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", r.newRS.GetName()))
	}
	change := r.annotationsToCopy(r.newRS)
	if before, next := revisionOf(r.newRS), r.nextRevision(); before < next {
		change[revisionKey] = strconv.FormatInt(next, 10)
		if before > 0 {
			change[historyKey] = lengthen(fields.Annotation(r.newRS, historyKey), before)
		}
	}
	update := map[string]any{"metadata": map[string]any{"annotations": change}}
	if fields.Int64(r.newRS.Object, 0, "spec", "minReadySeconds") != r.spec.minReady {
		update["spec"] = map[string]any{"minReadySeconds": r.spec.minReady}
	} else if len(change) == 0 {
		return nil
	}
	next, err := r.MergePatch(r.newRS, update)
	if err == nil {
		r.newRS = next
	}
	return err
}

// lengthen appends a revision to the revisions that a ReplicaSet had before. When the text gets too
// long, it drops the first ones.
func lengthen(text string, revision int64) string {
	entries := append(strings.FieldsFunc(text, func(r rune) bool { return r == ',' }), strconv.FormatInt(revision, 10))
	for text = strings.Join(entries, ","); len(text) > longestHistory; text = strings.Join(entries, ",") {
		entries = entries[1:]
	}
	return text
}

// ownAnnotations are not copied from a Deployment to its ReplicaSets.
var ownAnnotations = map[string]bool{
	lastAppliedKey: true, revisionKey: true, historyKey: true, desiredKey: true, maxReplicasKey: true, rollbackKey: true,
}

// annotationsToCopy returns the annotations of the Deployment that a ReplicaSet does not have. The
// ReplicaSet is nil before it exists.
func (r *rollout) annotationsToCopy(rs *unstructured.Unstructured) map[string]any {
	change := map[string]any{}
	for k, v := range fields.Map(r.deployment.Object, "metadata", "annotations") {
		if !ownAnnotations[k] && (rs == nil || fields.Annotation(rs, k) != v) {
			change[k] = v
		}
	}
	return change
}

// ensureNewRS creates the ReplicaSet of the present template if it is missing.
func (r *rollout) ensureNewRS() error {
	if r.newRS != nil {
		return nil
	}
	rs, err := r.newReplicaSet()
	if err != nil {
		return err
	}
	created, err := r.Create(rs)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.retryAfterCollision(rs, err)
	case err != nil:
		message := fmt.Sprintf("Failed to create new replica set %q: %v", rs.GetName(), err)
		r.setProgressing("False", "ReplicaSetCreateError", message)
		_ = r.updateStatus(r.status()) // the first error is the one to return
		r.Record(r.deployment, "Warning", "ReplicaSetCreateError", message)
		return err
	}
	r.newRS = created
	if n := specReplicas(created); n > 0 {
		r.recordScaling(created, 0, n)
	}
	if !r.resumed { // else kube-controller-manager writes that first, so that its next write is a conflict
		r.setProgressing("True", "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", created.GetName()))
	}
	return nil
}

// retryAfterCollision counts that another object has the name, and tries the next name. If that
// object is not in the cache yet, it could be the new ReplicaSet itself, so the key is tried again
// later.
func (r *rollout) retryAfterCollision(rs *unstructured.Unstructured, exists error) error {
	if r.Cache.Get(kinds.ReplicaSet, control.NameOf(rs)) == nil {
		return exists
	}
	n, _ := object.ToInt64(r.collisions)
	r.collisions = n + 1
	return r.ensureNewRS()
}

func (r *rollout) newReplicaSet() (*unstructured.Unstructured, error) {
	d := r.deployment
	template := fields.Map(d.Object, "spec", "template")
	hash, err := hashOf(template, r.collisions)
	if err != nil {
		return nil, err
	}
	template = withLabel(template, templateHash, hash)
	name := d.GetName()
	name = name[:min(len(name), validation.DNS1123SubdomainMaxLength-1-len(hash))] + "-" + hash
	rs := control.NewObject(kinds.ReplicaSet, d.GetNamespace(), name)
	annotations := r.annotationsToCopy(nil)
	annotations[revisionKey] = strconv.FormatInt(r.nextRevision(), 10)
	annotations[desiredKey] = strconv.FormatInt(r.spec.replicas, 10)
	annotations[maxReplicasKey] = strconv.FormatInt(r.spec.replicas+r.spec.surge, 10)
	metadata := control.Metadata(rs)
	metadata["labels"], metadata["annotations"] = fields.Map(template, "metadata", "labels"), annotations
	metadata["ownerReferences"] = []any{control.ControllerRef(d)}

	selector := maps.Clone(fields.Map(d.Object, "spec", "selector"))
	matchLabels := fields.CloneMap(selector, "matchLabels")
	matchLabels[templateHash] = hash
	selector["matchLabels"] = matchLabels
	spec := control.Status{"replicas": r.newRSReplicas(0, sum(r.oldRSs, specReplicas)), "selector": selector, "template": template}
	spec.SetNonZero("minReadySeconds", r.spec.minReady)
	rs.Object["spec"] = map[string]any(spec)
	return rs, nil
}

// cleanupOld deletes old ReplicaSets without Pods, except for the latest spec.revisionHistoryLimit
// ones.
func (r *rollout) cleanupOld() error {
	old := lists.Filter(r.oldRSs, func(rs *unstructured.Unstructured) bool { return !fields.IsTerminating(rs) })
	slices.SortStableFunc(old, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(revisionOf(a), revisionOf(b)), fields.ByAge(a, b))
	})
	return r.DeleteAll(lists.Filter(lists.AllButLast(old, r.spec.history), func(rs *unstructured.Unstructured) bool {
		return specReplicas(rs) == 0 && statusCount(rs, "replicas") == 0 && rs.GetGeneration() <= statusCount(rs, "observedGeneration")
	}))
}
