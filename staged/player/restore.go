package player

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// gitOps are how the objects of GitOps tools begin: the names of their field managers, and their labels
// and annotations. What the tools manage they write back.
var gitOps = struct{ managers, keys []string }{
	[]string{"argocd-", "kustomize-controller", "helm-controller", "flux", "kapp-controller", "fleetagent", "configsync"},
	[]string{"argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "kapp.k14s.io/", "objectset.rio.cattle.io/", "configsync.gke.io/"},
}

// cannotRestore says why objects of the source cannot be written back to a revision; "": they can.
func cannotRestore(objects []*unstructured.Unstructured, back []fleet.Snapshot) string {
	for _, obj := range objects {
		name := fmt.Sprintf("%s %s/%s", obj.GetKind(), obj.GetNamespace(), obj.GetName())
		if tool := managerOf(obj); tool != "" {
			return fmt.Sprintf("%s manages %s: go back there", tool, name)
		}
		for _, s := range back {
			if !slices.ContainsFunc(s.Objects, func(o *unstructured.Unstructured) bool { return isSameObject(o, obj) }) {
				return fmt.Sprintf("%s is not in it: a person has to delete that", name)
			}
		}
	}
	return ""
}

// managerOf returns what shows that a GitOps tool manages an object; "": nothing does.
func managerOf(obj *unstructured.Unstructured) string {
	for _, f := range obj.GetManagedFields() {
		if f.Subresource == "" && slices.ContainsFunc(gitOps.managers, func(m string) bool { return strings.HasPrefix(f.Manager, m) }) {
			return f.Manager
		}
	}
	for _, values := range []map[string]string{obj.GetLabels(), obj.GetAnnotations()} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if slices.ContainsFunc(gitOps.keys, func(k string) bool { return strings.HasPrefix(key, k) }) {
				return key
			}
		}
	}
	return ""
}

func isSameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// restore writes the content of a revision back into the source, object by object, each under the
// resourceVersion that was observed.
func (p *Player) restore(ctx context.Context, s *policyState, id fleet.RevisionID) error {
	if id == "" || p.source == nil {
		return nil
	}
	for _, want := range s.contents[id].Objects {
		live := p.source.objects[want.GroupVersionKind()][types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()}]
		changed, err := p.restoreObject(ctx, live, want)
		if err != nil {
			return fmt.Errorf("restore %s: %w", id.Short(), err)
		}
		if changed {
			s.events = append(s.events, staged.Event{Type: "Normal", Reason: "SourceRestored", Message: fmt.Sprintf("wrote %s %s/%s of %s back", want.GetKind(), want.GetNamespace(), want.GetName(), id.Short())})
		}
	}
	return nil
}

func (p *Player) restoreObject(ctx context.Context, live, want *unstructured.Unstructured) (changed bool, err error) {
	if live == nil {
		_, err := p.hub.Create(ctx, want.DeepCopy(), metav1.CreateOptions{})
		return true, err
	}
	if reflect.DeepEqual(fleet.Deliver(live).Object, want.Object) {
		return false, nil
	}
	patch, err := json.Marshal(replacing(live, want))
	if err != nil {
		return false, err
	}
	_, err = p.hub.Patch(ctx, want.GroupVersionKind(), types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()}, types.JSONPatchType, patch, metav1.PatchOptions{})
	return true, err
}

// replacing returns a JSON patch that gives an object the delivered content of another one, and leaves
// its status and the metadata that no cluster receives.
func replacing(live, want *unstructured.Unstructured) (patch []map[string]any) {
	set := func(op, path string, value any) {
		patch = append(patch, map[string]any{"op": op, "path": path, "value": value})
	}
	set("test", "/metadata/resourceVersion", live.GetResourceVersion())
	set("test", "/metadata/uid", string(live.GetUID()))
	delivered := fleet.Deliver(live)
	for field := range delivered.Object {
		if _, stays := want.Object[field]; !stays {
			patch = append(patch, map[string]any{"op": "remove", "path": "/" + field})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(want.Object)) {
		if field != "metadata" {
			set("add", "/"+field, want.Object[field])
		}
	}
	set("add", "/metadata/labels", merged(live.GetLabels(), delivered.GetLabels(), want.GetLabels()))
	set("add", "/metadata/annotations", merged(live.GetAnnotations(), delivered.GetAnnotations(), want.GetAnnotations()))
	return patch
}

// merged replaces the delivered values among all values by others.
func merged(all, delivered, want map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range all {
		if _, replaced := delivered[key]; !replaced {
			out[key] = value
		}
	}
	maps.Copy(out, want)
	return out
}
