package recording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Normalizer replaces values that differ from run to run:
//
//	times                                         <time>
//	uids, alone or within names                   <uid>
//	addresses                                     <ip>
//	nodes that Pods are bound to                  <node>
//	the random end of a generated name            <random>, also of a name that no object got
//	hashes of templates, in order of appearance   <hash-1>, <hash-2>, …
//	the minutes in the name of a CronJob's Job    <minutes>
//	the namespace                                 <namespace>
//
// It removes resourceVersion, managedFields, metadata.namespace and the annotation of the kubelet.
// In the spec it keeps only the fields that controllers write, see specFields. It remembers hashes
// and names from one phase to the next.
type Normalizer struct {
	namespace string
	hashes    []string
	names     map[string]string // placeholders by generated name
}

// NewNormalizer returns a normalizer for the objects of one namespace.
func NewNormalizer(namespace string) *Normalizer {
	return &Normalizer{namespace: namespace, names: map[string]string{}}
}

// specFields are the fields that are kept in addition to metadata and status.
var specFields = map[string][]string{
	"CronJob":               {"spec.suspend"},
	"DaemonSet":             {},
	"Deployment":            {"spec.replicas", "spec.paused"},
	"EndpointSlice":         {"addressType", "endpoints", "ports"},
	"Job":                   {"spec.suspend", "spec.parallelism", "spec.completions", "spec.completionMode", "spec.backoffLimit", "spec.selector", "spec.podReplacementPolicy"},
	"Namespace":             {"spec"},
	"PersistentVolume":      {"spec.claimRef.kind", "spec.claimRef.name"},
	"PersistentVolumeClaim": {"spec.volumeName"},
	"Pod":                   {"spec.nodeName", "spec.hostname", "spec.subdomain"},
	"ReplicaSet":            {"spec.replicas", "spec.selector"},
	"StatefulSet":           {"spec.replicas"},
	"ControllerRevision":    {"revision"},
	"ConfigMap":             {"data"},
	"ResourceQuota":         {"spec"},
	"LimitRange":            {"spec"},
	"Service":               {"spec.type"},
}

// Objects normalizes objects of the kinds, in the order of the kinds and of names.
func (n *Normalizer) Objects(found []*unstructured.Unstructured, kinds []string) []map[string]any {
	n.addNames(found)
	var out []map[string]any
	for _, obj := range found {
		if slices.Contains(kinds, obj.GetKind()) {
			out = append(out, n.object(obj))
		}
	}
	Sort(out, kinds)
	return out
}

// Sort sorts normalized objects by kind, name and text.
func Sort(objects []map[string]any, kinds []string) {
	slices.SortFunc(objects, func(a, b map[string]any) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a["kind"].(string)), slices.Index(kinds, b["kind"].(string))),
			cmp.Compare(text(a["metadata"].(map[string]any)["name"]), text(b["metadata"].(map[string]any)["name"])),
			cmp.Compare(text(a), text(b)),
		)
	})
}

func text(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// addNames adds new hashes, oldest first, and new names.
func (n *Normalizer) addNames(found []*unstructured.Unstructured) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	for _, obj := range found {
		for _, label := range []string{"pod-template-hash", "controller.kubernetes.io/hash", "controller-revision-hash"} {
			if h := obj.GetLabels()[label]; h != "" && obj.GetKind() != "Pod" && !slices.Contains(n.hashes, h) {
				n.hashes = append(n.hashes, h)
			}
		}
		if name := obj.GetName(); n.names[name] == "" {
			n.addName(obj)
		}
	}
}

func (n *Normalizer) addName(obj *unstructured.Unstructured) {
	name, prefix := obj.GetName(), obj.GetGenerateName()
	switch refs := obj.GetOwnerReferences(); {
	case prefix != "":
		n.names[name] = prefix + "<random>"
	case len(refs) == 1 && refs[0].Kind == "CronJob":
		n.names[name] = refs[0].Name + "-<minutes>"
	}
}

func (n *Normalizer) object(obj *unstructured.Unstructured) map[string]any {
	root := runtime.DeepCopyJSON(obj.Object)
	out := map[string]any{"apiVersion": root["apiVersion"], "kind": root["kind"], "metadata": metadataOf(root)}
	if status, ok := root["status"]; ok {
		out["status"] = status
	}
	for _, path := range specFields[obj.GetKind()] {
		at := strings.Split(path, ".")
		if v, ok, _ := unstructured.NestedFieldNoCopy(root, at...); ok {
			_ = unstructured.SetNestedField(out, v, at...)
		}
	}
	return n.value(out).(map[string]any)
}

func metadataOf(root map[string]any) map[string]any {
	metadata, _ := root["metadata"].(map[string]any)
	for _, field := range []string{"creationTimestamp", "managedFields", "namespace", "resourceVersion", "uid", "selfLink"} {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, PlayAnnotation)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return metadata
}

func (n *Normalizer) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			if key != "resourceVersion" {
				out[n.text(key)] = n.value(e)
			}
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = n.value(e)
		}
	case string:
		return n.text(v)
	}
	return v
}

// NodePrefix is the beginning of the names of nodes.
const NodePrefix = "recording-node-"

var patterns = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`), "<ip>"},
	{regexp.MustCompile(`(<hash-\d+>)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-<random>"},
	{regexp.MustCompile(NodePrefix + `\d+`), "<node>"},
}

func (n *Normalizer) text(s string) string {
	for _, name := range n.namesByLength() {
		s = strings.ReplaceAll(s, name, n.names[name])
	}
	for i, hash := range n.hashes {
		s = strings.ReplaceAll(s, hash, fmt.Sprintf("<hash-%d>", i+1))
	}
	for _, p := range patterns {
		s = p.what.ReplaceAllString(s, p.with)
	}
	return strings.ReplaceAll(s, n.namespace, "<namespace>")
}

// namesByLength returns the known names, long ones first, because the name of a Pod contains the
// name of its Job.
func (n *Normalizer) namesByLength() []string {
	return slices.SortedFunc(maps.Keys(n.names), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}
