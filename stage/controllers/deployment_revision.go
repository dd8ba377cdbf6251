package controllers

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

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
)

// sameTemplate compares the template of a Deployment with that of a ReplicaSet, which also has the hash.
func sameTemplate(template, other map[string]any) bool {
	return patch.Equal(withLabel(template, templateHash, ""), withLabel(other, templateHash, ""))
}

// withLabel sets a label of a template, or takes it away if the value is "".
func withLabel(template map[string]any, key, value string) map[string]any {
	template, metadata := maps.Clone(template), maps.Clone(tree(template, "metadata"))
	labels := maps.Clone(tree(metadata, "labels"))
	if metadata == nil {
		metadata = map[string]any{}
	}
	if labels == nil {
		labels = map[string]any{}
	}
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	metadata["labels"] = labels
	if template == nil {
		template = map[string]any{}
	}
	template["metadata"] = metadata
	return template
}

// hashOf is a short name for a template. It is not that of Kubernetes, which hashes a Go value.
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
	n, _ := strconv.ParseInt(annotation(rs, revisionKey), 10, 64)
	return n
}

// nextRevision is one more than the highest of the old ReplicaSets.
func (r *rollout) nextRevision() (n int64) {
	for _, rs := range r.old {
		n = max(n, revisionOf(rs))
	}
	return n + 1
}

// numberRevision keeps the annotations of the current ReplicaSet up to date: going back to an old template makes its revision the latest.
func (r *rollout) numberRevision() error {
	if r.current == nil {
		return nil
	}
	if r.spec.deadline > 0 && r.conditions.find("Progressing") == nil {
		r.note("True", "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", r.current.GetName()))
	}
	change := r.copiedAnnotations(r.current)
	if before, next := revisionOf(r.current), r.nextRevision(); before < next {
		change[revisionKey] = strconv.FormatInt(next, 10)
		if before > 0 {
			change[historyKey] = lengthen(annotation(r.current, historyKey), before)
		}
	}
	update := map[string]any{"metadata": map[string]any{"annotations": change}}
	if number(r.current.Object, 0, "spec", "minReadySeconds") != r.spec.minReady {
		update["spec"] = map[string]any{"minReadySeconds": r.spec.minReady}
	} else if len(change) == 0 {
		return nil
	}
	next, err := r.merge(r.current, update)
	if err == nil {
		r.current = next
	}
	return err
}

// lengthen appends a revision to those that a ReplicaSet had before; the first ones go when the text gets too long.
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

// copiedAnnotations are those of the Deployment that the ReplicaSet has not.
func (r *rollout) copiedAnnotations(rs *unstructured.Unstructured) map[string]any {
	change := map[string]any{}
	for k, v := range tree(r.deployment.Object, "metadata", "annotations") {
		if !ownAnnotations[k] && (rs == nil || annotation(rs, k) != v) {
			change[k] = v
		}
	}
	return change
}

// ensureCurrent makes the ReplicaSet of the present template if it is missing.
func (r *rollout) ensureCurrent() error {
	if r.current != nil {
		return nil
	}
	rs, err := r.newReplicaSet()
	if err != nil {
		return err
	}
	created, err := r.create(rs)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.collide(rs, err)
	case err != nil:
		message := fmt.Sprintf("Failed to create new replica set %q: %v", rs.GetName(), err)
		r.note("False", "ReplicaSetCreateError", message)
		_ = r.report(r.status()) // the first error is the one to tell
		return err
	}
	r.current = created
	r.note("True", "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", created.GetName()))
	return nil
}

// collide counts that the name is taken by something else, and takes another one. What took it may not have been seen yet; then it is tried again
// later.
func (r *rollout) collide(rs *unstructured.Unstructured, exists error) error {
	if r.Cache.Get(replicaSets, nameOf(rs)) == nil {
		return exists
	}
	n, _ := object.ToInt64(r.collisions)
	r.collisions = n + 1
	return r.ensureCurrent()
}

func (r *rollout) newReplicaSet() (*unstructured.Unstructured, error) {
	d := r.deployment
	template := tree(d.Object, "spec", "template")
	hash, err := hashOf(template, r.collisions)
	if err != nil {
		return nil, err
	}
	template = withLabel(template, templateHash, hash)
	name := d.GetName()
	rs := newObject(replicaSets, d.GetNamespace(), name[:min(len(name), validation.DNS1123SubdomainMaxLength-1-len(hash))]+"-"+hash)
	annotations := r.copiedAnnotations(nil)
	annotations[revisionKey] = strconv.FormatInt(r.nextRevision(), 10)
	annotations[desiredKey] = strconv.FormatInt(r.spec.replicas, 10)
	annotations[maxReplicasKey] = strconv.FormatInt(r.spec.replicas+r.spec.surge, 10)
	metadata := rs.Object["metadata"].(map[string]any)
	metadata["labels"], metadata["annotations"] = tree(template, "metadata", "labels"), annotations
	metadata["ownerReferences"] = []any{controllerRef(d)}

	selector := maps.Clone(tree(d.Object, "spec", "selector"))
	matchLabels := maps.Clone(tree(selector, "matchLabels"))
	if matchLabels == nil {
		matchLabels = map[string]any{}
	}
	matchLabels[templateHash] = hash
	selector["matchLabels"] = matchLabels
	spec := counts{"replicas": r.room(0, sum(r.old, wanted)), "selector": selector, "template": template}
	spec.add("minReadySeconds", r.spec.minReady)
	rs.Object["spec"] = map[string]any(spec)
	return rs, nil
}

// dropHistory deletes the oldest of the old ReplicaSets that have nothing left, except for the latest few.
func (r *rollout) dropHistory() error {
	old := keep(r.old, func(rs *unstructured.Unstructured) bool { return !isTerminating(rs) })
	slices.SortStableFunc(old, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(revisionOf(a), revisionOf(b)), byAge(a, b))
	})
	return r.deleteAll(keep(beyond(old, r.spec.history), func(rs *unstructured.Unstructured) bool {
		return wanted(rs) == 0 && observed(rs, "replicas") == 0 && rs.GetGeneration() <= observed(rs, "observedGeneration")
	}))
}
