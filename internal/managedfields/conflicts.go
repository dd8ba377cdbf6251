package managedfields

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// conflictError is the error about fields that other managers own.
func conflictError(conflicts merge.Conflicts) error {
	slices.SortStableFunc(conflicts, func(a, b merge.Conflict) int { return strings.Compare(a.Manager, b.Manager) })
	found := map[string][]string{}
	var causes []metav1.StatusCause
	for _, c := range conflicts {
		found[c.Manager] = append(found[c.Manager], c.Path.String())
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + managerName(c.Manager), Field: c.Path.String()})
	}
	if len(causes) == 1 {
		return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with 1 conflict: %s: %s", causes[0].Message, causes[0].Field))
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(found)) {
		lines = append(lines, fmt.Sprintf("conflicts with %s:", managerName(id)))
		for _, p := range found[id] {
			lines = append(lines, "- "+p)
		}
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts: %s", len(causes), strings.Join(lines, "\n")))
}

// managerName names a manager as conflicts do.
func managerName(id string) string {
	e := identified(id)
	name := fmt.Sprintf("%q", e.Manager)
	if e.Subresource != "" {
		name += fmt.Sprintf(" with subresource %q", e.Subresource)
	}
	if e.Operation == metav1.ManagedFieldsOperationUpdate {
		name += " using " + e.APIVersion
	}
	return name
}

// notTyped is the error about an object with fields of wrong types.
func (w Writer) notTyped(which string, obj map[string]any, err error) error {
	name, _ := object.String(obj, "metadata", "name")
	namespace, _ := object.String(obj, "metadata", "namespace")
	kind, _ := object.String(obj, "kind")
	return fmt.Errorf("failed to create typed %s object (%s/%s; %s): %w", which, namespace, name, schema.FromAPIVersionAndKind(w.APIVersion, kind), err)
}

// kubectl is the manager whose server-side applies take over fields of earlier client-side applies.
const (
	kubectl     = "kubectl"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// serious returns the conflicts that count. If kubectl applies, conflicts about fields of its
// earlier client-side apply do not count.
func (w Writer) serious(conflicts merge.Conflicts, live *typed.TypedValue, before map[string]any) merge.Conflicts {
	own := w.lastApplied(live, before)
	if own == nil {
		return conflicts
	}
	return slices.DeleteFunc(conflicts, func(c merge.Conflict) bool { return own.Has(c.Path) })
}

// lastApplied returns the fields of kubectl's last client-side apply that still have the applied
// values; nil if they are not known.
func (w Writer) lastApplied(live *typed.TypedValue, before map[string]any) *fieldpath.Set {
	text, _ := object.String(before, "metadata", "annotations", lastApplied)
	var config map[string]any
	if w.Manager != kubectl || json.Unmarshal([]byte(text), &config) != nil || config["apiVersion"] != w.APIVersion {
		return nil
	}
	then, err := w.Type.FromUnstructured(config)
	if err != nil {
		return nil
	}
	fields, err := then.ToFieldSet()
	if err != nil {
		return nil
	}
	diff, err := then.Compare(live)
	if err != nil {
		return nil
	}
	return fields.Difference(diff.Modified).Difference(diff.Added).Difference(diff.Removed)
}

// annotated writes the configuration of kubectl into the annotation for client-side applies, if the
// object has this annotation.
func (w Writer) annotated(next, config map[string]any) map[string]any {
	if text, _ := object.String(next, "metadata", "annotations", lastApplied); w.Manager != kubectl || text == "" {
		return next
	}
	metadata := maps.Clone(metadataOf(next))
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations[lastApplied] = encodeConfig(config); sizeOf(annotations) > mostAnnotations {
		delete(annotations, lastApplied)
	}
	metadata["annotations"] = annotations
	next = maps.Clone(next)
	next["metadata"] = metadata
	return next
}

// mostAnnotations is the largest size of the annotations of an object, in bytes.
const mostAnnotations = 256 << 10

func sizeOf(annotations map[string]any) (bytes int) {
	for key, v := range annotations {
		text, _ := v.(string)
		bytes += len(key) + len(text)
	}
	return bytes
}

// encodeConfig is a configuration as text, without the annotation.
func encodeConfig(config map[string]any) string {
	if _, ok := object.String(config, "metadata", "annotations", lastApplied); ok {
		metadata := maps.Clone(metadataOf(config))
		annotations, _ := metadata["annotations"].(map[string]any)
		annotations = maps.Clone(annotations)
		delete(annotations, lastApplied)
		metadata["annotations"] = annotations
		config = maps.Clone(config)
		config["metadata"] = metadata
	}
	data, err := json.Marshal(config)
	if err != nil {
		return "" // a JSON value can always be encoded
	}
	return string(data) + "\n"
}
