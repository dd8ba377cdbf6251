package hunt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	machines     = kindOf("Machine")
	instances    = kindOf("Instance") // of a cloud
	fleets       = kindOf("Fleet")
	databases    = kindOf("Database")
	routes       = kindOf("Route")
	gateways     = kindOf("Gateway")
	images       = kindOf("Image")
	searches     = kindOf("Search")
	secrets      = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	statefulSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	podKind      = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

const finalizer = "example.com/operator"

// idInStatus: a Machine has an Instance in a cloud, which gives it its id. The bug finds it by the id in
// the status; the twin by the uid of the Machine, which it gives the Instance as a tag.
func idInStatus(bug bool) func(*hunt.Run) {
	do := func(c client, m *object, name string) (time.Duration, error) {
		if m == nil {
			return 0, nil
		}
		ids, err := instanceIDs(c, m, bug)
		if err != nil {
			return 0, err
		}
		if isDeleted(m) {
			return 0, endMachine(c, m, ids)
		}
		if !slices.Contains(m.GetFinalizers(), finalizer) {
			m.SetFinalizers([]string{finalizer})
			if m, err = c.save(m); err != nil {
				return 0, err
			}
		}
		if text(m, "status", "id") != "" {
			return 0, nil
		}
		if len(ids) == 0 {
			made, err := c.Create(c.ctx, newInstance(m), metav1.CreateOptions{})
			if err != nil {
				return 0, err
			}
			ids = []string{made.GetName()}
		}
		set(m, ids[0], "status", "id")
		return 0, c.updateStatus(m)
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: machines, do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Machine, metadata: {name: a, namespace: default}, spec: {size: small}}`)
	}
}

func newInstance(m *object) *object {
	obj := &object{Object: map[string]any{}}
	obj.SetGroupVersionKind(instances)
	obj.SetGenerateName("i-")
	obj.SetLabels(map[string]string{"machine": string(m.GetUID())})
	return obj
}

func instanceIDs(c client, m *object, bug bool) (ids []string, err error) {
	if bug {
		if id := text(m, "status", "id"); id != "" {
			ids = append(ids, id)
		}
		return ids, nil
	}
	list, err := c.Live().List(c.ctx, instances, "", metav1.ListOptions{LabelSelector: "machine=" + string(m.GetUID())})
	if err != nil {
		return nil, err
	}
	for _, found := range list.Items {
		ids = append(ids, found.GetName())
	}
	return ids, nil
}

func endMachine(c client, m *object, ids []string) error {
	if !slices.Contains(m.GetFinalizers(), finalizer) {
		return nil
	}
	for _, id := range ids {
		if err := c.removeByName(instances, "", id); err != nil {
			return err
		}
	}
	m.SetFinalizers(nil)
	return ignoreNotFound(c.update(m))
}

// expectationStays: spec.replicas Tasks for each Fleet, and nothing is done before the ones that were made
// are seen. The bug also expects to see one whose creation failed.
func expectationStays(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			expected := map[string]sets.Set[string]{}
			seen := reconcile.Watch{Kind: tasks, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				owner := metav1.GetControllerOf(ch.Object())
				if owner == nil {
					return nil // an orphan
				}
				if ch.New != nil {
					expected[owner.Name].Delete(ch.New.GetName())
				}
				return []types.NamespacedName{{Namespace: "default", Name: owner.Name}}
			}}
			x := reconciler{kind: fleets, watches: []reconcile.Watch{seen}, do: func(c client, f *object, name string) (time.Duration, error) {
				if isDeleted(f) {
					delete(expected, name)
					return 0, nil
				}
				if len(expected[name]) > 0 {
					return 0, nil
				}
				expected[name] = sets.New[string]()
				return 0, scaleFleet(c, f, expected[name], bug)
			}}
			return []reconcile.Controller{x.controller(p)}
		})
		r.Apply(`{apiVersion: example.com/v1, kind: Fleet, metadata: {name: a, namespace: default}, spec: {replicas: 1}}`)
		r.At(10*time.Minute, "scale", func(u *hunt.User) error { return u.Patch(fleets, "default/a", `{"spec":{"replicas":3}}`) })
	}
}

func scaleFleet(c client, f *object, expected sets.Set[string], bug bool) error {
	found, err := c.owned(tasks, f)
	if err != nil {
		return err
	}
	have := sets.New[string]()
	for _, task := range found {
		have.Insert(task.GetName())
	}
	for i := range number(f, "spec", "replicas") {
		name := fmt.Sprintf("%s-%d", f.GetName(), i)
		if have.Has(name) {
			continue
		}
		expected.Insert(name)
		if err := c.ensure(part(tasks, f, name)); err != nil {
			if !bug {
				expected.Delete(name)
			}
			return err
		}
	}
	if number(f, "status", "replicas") == int64(len(found)) {
		return nil
	}
	set(f, int64(len(found)), "status", "replicas")
	return c.updateStatus(f)
}

// secretOfOneBefore: a Database has a Secret with a password, and a Task that initializes it with that.
// The bug takes the Secret of a Database of the same name that is gone, before it is collected. The uid
// of the Secret stands for the password.
func secretOfOneBefore(bug bool) func(*hunt.Run) {
	do := func(c client, db *object, name string) (time.Duration, error) {
		if isDeleted(db) {
			return 0, nil
		}
		secret, err := c.get(secrets, name+"-password")
		if err == nil && secret == nil {
			secret, err = c.Create(c.ctx, part(secrets, db, name+"-password"), metav1.CreateOptions{})
		}
		if err != nil {
			return 0, err
		}
		if !bug && !metav1.IsControlledBy(secret, db) {
			return 0, fmt.Errorf("Secret %s is not ours", secret.GetName())
		}
		found, err := c.owned(tasks, db)
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			task := part(tasks, db, name+"-init")
			set(task, string(secret.GetUID()), "spec", "password")
			return 0, c.ensure(task)
		}
		if text(db, "status", "phase") == "Ready" {
			return 0, nil
		}
		set(db, "Ready", "status", "phase")
		return 0, c.updateStatus(db)
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: databases, watches: owns(secrets, tasks), do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: default}, spec: {size: 1Gi}}`)
	}
}

// listPatched: each Route adds its name to the list of its Gateway, and removes it when it is deleted.
// The bug patches the list without the version that it has read.
func listPatched(bug bool) func(*hunt.Run) {
	ofGateway := reconcile.Watch{Kind: gateways, Map: func(cache *reconcile.Cache, _ reconcile.Change) (all []types.NamespacedName) {
		for _, route := range cache.List(routes, "default") {
			all = append(all, nameOf(route))
		}
		return all
	}}
	do := func(c client, route *object, name string) (time.Duration, error) {
		if route == nil {
			return 0, nil
		}
		if isDeleted(route) {
			return 0, endRoute(c, route, bug)
		}
		if !slices.Contains(route.GetFinalizers(), finalizer) {
			route.SetFinalizers([]string{finalizer})
			var err error
			if route, err = c.save(route); err != nil {
				return 0, err
			}
		}
		gateway, err := c.get(gateways, "edge")
		if err != nil {
			return 0, err
		}
		programmed := "no"
		if gateway != nil {
			programmed = "yes"
			if err := patchList(c, gateway, append(without(gateway, name), name), bug); err != nil {
				return 0, err
			}
		}
		if text(route, "status", "programmed") == programmed {
			return 0, nil
		}
		set(route, programmed, "status", "programmed")
		return 0, c.updateStatus(route)
	}
	route := `{apiVersion: example.com/v1, kind: Route, metadata: {name: %s, namespace: default}, spec: {port: 80}}`
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: routes, watches: []reconcile.Watch{ofGateway}, do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Gateway, metadata: {name: edge, namespace: default}, spec: {class: fast}}`, fmt.Sprintf(route, "a"), fmt.Sprintf(route, "b"))
		r.At(10*time.Minute, "c in the place of a", func(u *hunt.User) error {
			if err := u.Delete(routes, "default/a"); err != nil {
				return err
			}
			return u.Apply(fmt.Sprintf(route, "c"))
		})
	}
}

func endRoute(c client, route *object, bug bool) error {
	if !slices.Contains(route.GetFinalizers(), finalizer) {
		return nil
	}
	gateway, err := c.live(gateways, "edge")
	if err != nil {
		return err
	}
	if gateway != nil {
		if err := patchList(c, gateway, without(gateway, route.GetName()), bug); err != nil {
			return err
		}
	}
	route.SetFinalizers(nil)
	return ignoreNotFound(c.update(route))
}

// without returns the names in the list of a Gateway but one.
func without(gateway *object, name string) []string {
	names, _, _ := unstructured.NestedStringSlice(gateway.Object, "spec", "routes")
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}

func patchList(c client, gateway *object, names []string, bug bool) error {
	slices.Sort(names)
	if have, _, _ := unstructured.NestedStringSlice(gateway.Object, "spec", "routes"); slices.Equal(have, names) {
		return nil
	}
	patch := map[string]any{"spec": map[string]any{"routes": names}}
	if !bug {
		patch["metadata"] = map[string]any{"resourceVersion": gateway.GetResourceVersion()}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.Patch(c.ctx, gateways, nameOf(gateway), types.MergePatchType, data, metav1.PatchOptions{})
	return ignoreNotFound(err)
}

// creationIgnored: the phase of an Image is that of its Task. The bug does not look when a Task is
// created, since it has created it itself.
func creationIgnored(bug bool) func(*hunt.Run) {
	watch := reconcile.Watch{Kind: tasks}
	if bug {
		watch.Map = func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			if ch.Old == nil || ch.New != nil && text(ch.Old, "status", "phase") == text(ch.New, "status", "phase") {
				return nil
			}
			owner := metav1.GetControllerOf(ch.Object())
			if owner == nil {
				return nil
			}
			return []types.NamespacedName{{Namespace: "default", Name: owner.Name}}
		}
	}
	do := func(c client, image *object, name string) (time.Duration, error) {
		if isDeleted(image) {
			return 0, nil
		}
		found, err := c.owned(tasks, image)
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			return 0, c.ensure(part(tasks, image, name))
		}
		phase := text(found[0], "status", "phase")
		if phase == "" || text(image, "status", "phase") == phase {
			return 0, nil
		}
		set(image, phase, "status", "phase")
		return 0, c.updateStatus(image)
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: images, watches: []reconcile.Watch{watch}, do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Image, metadata: {name: a, namespace: default}, spec: {commit: abc}}`)
	}
}

// podByName: the Pods of a Search are restarted one after the other for a new version, each when all are
// ready. The bug deletes them by name, though the Pod that it sees may have been replaced.
func podByName(bug bool) func(*hunt.Run) {
	pods := reconcile.Watch{Kind: podKind, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		return []types.NamespacedName{{Namespace: "default", Name: ch.Object().GetLabels()["search"]}}
	}}
	do := func(c client, s *object, name string) (time.Duration, error) {
		if isDeleted(s) {
			return 0, nil
		}
		version := text(s, "spec", "version")
		nodes, err := c.get(statefulSets, name)
		if err != nil {
			return 0, err
		}
		if nodes == nil {
			return 0, c.create(searchNodes(s, version))
		}
		if !metav1.IsControlledBy(nodes, s) {
			return 0, fmt.Errorf("StatefulSet %s is not ours", name)
		}
		if text(nodes, "spec", "template", "metadata", "annotations", "version") != version {
			set(nodes, version, "spec", "template", "metadata", "annotations", "version")
			return 0, c.update(nodes)
		}
		if number(nodes, "status", "observedGeneration") != nodes.GetGeneration() {
			return 0, nil
		}
		return 0, restartNext(c, s, nodes, bug)
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: searches, watches: append(owns(statefulSets), pods), do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Search, metadata: {name: a, namespace: default}, spec: {version: v1}}`)
		r.At(10*time.Minute, "new version", func(u *hunt.User) error { return u.Patch(searches, "default/a", `{"spec":{"version":"v2"}}`) })
	}
}

func searchNodes(s *object, version string) *object {
	name := s.GetName()
	nodes := part(statefulSets, s, name)
	nodes.Object["spec"] = map[string]any{
		"replicas": int64(3), "serviceName": name, "podManagementPolicy": "Parallel", "updateStrategy": map[string]any{"type": "OnDelete"},
		"selector": map[string]any{"matchLabels": map[string]any{"search": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"search": name}, "annotations": map[string]any{"version": version}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "search", "image": "search"}}},
		},
	}
	return nodes
}

// restartNext deletes the last Pod that has an old version, if all are ready.
func restartNext(c client, s, nodes *object, bug bool) error {
	pods, err := c.owned(podKind, nodes)
	if err != nil {
		return err
	}
	if len(pods) != 3 || slices.ContainsFunc(pods, func(p *object) bool { return isDeleted(p) || !isReady(p) }) {
		return nil
	}
	version := text(s, "spec", "version")
	for _, pod := range slices.Backward(pods) {
		if pod.GetAnnotations()["version"] == version {
			continue
		}
		if bug {
			return c.removeByName(podKind, "default", pod.GetName())
		}
		return c.remove(pod)
	}
	if text(s, "status", "version") == version {
		return nil
	}
	set(s, version, "status", "version")
	return c.updateStatus(s)
}

func isReady(pod *object) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		return c.(map[string]any)["type"] == "Ready" && c.(map[string]any)["status"] == "True"
	})
}
