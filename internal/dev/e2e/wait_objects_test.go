package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A waitResult is a wait in progress, and its reports.
type waitResult struct {
	t      *testing.T
	done   chan error
	states chan wait.State
	last   map[string]wait.State // by the name of the object, as far as the test has looked
}

// waitFor waits for objects in the background.
func waitFor(t *testing.T, cluster transport.Lister, p wait.Policy, refs ...wait.Ref) *waitResult {
	t.Helper()
	w := &waitResult{t: t, done: make(chan error, 1), states: make(chan wait.State, 1000), last: map[string]wait.State{}}
	p.Observe = func(_ *wait.Collector, s wait.State) { w.states <- s }
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	go func() { w.done <- wait.For(ctx, cluster, refs, p) }()
	t.Cleanup(cancel)
	return w
}

// requireState waits until an object has a status for a reason.
func (w *waitResult) requireState(name string, status kstatus.Status, reason string) wait.State {
	w.t.Helper()
	for {
		if last := w.last[name]; last.Result.Status == status && last.Result.Reason == reason {
			return last
		}
		select {
		case s := <-w.states:
			w.last[s.Ref.Name] = s
		case err := <-w.done:
			require.FailNow(w.t, "the wait has ended", "%v; want %s %s of %s", err, status, reason, name)
		case <-time.After(timeout):
			require.FailNow(w.t, "not seen", "%s %s of %s; last was %v", status, reason, name, w.last[name])
		}
	}
}

func (w *waitResult) requireEnd() error {
	w.t.Helper()
	select {
	case err := <-w.done:
		return err
	case <-time.After(2 * timeout):
		require.FailNow(w.t, "the wait does not end")
		return nil
	}
}

func refTo(kind schema.GroupVersionKind, namespace, name string) wait.Ref {
	return wait.Ref{Kind: kind, Namespace: namespace, Name: name}
}

// clients are the ways to see the same cluster. One is the cache of a manager.
func clients(t *testing.T, config *rest.Config) map[string]transport.Lister {
	t.Helper()
	dynamic, err := kube.NewForConfig(config)
	require.NoError(t, err)
	watching, err := client.NewWithWatch(config, client.Options{})
	require.NoError(t, err)
	polling, err := client.New(config, client.Options{})
	require.NoError(t, err)
	mgr, _ := newManager(t, config, manager.Options{})
	cached, err := ctrlruntime.ForManager(mgr)
	require.NoError(t, err)
	start(t, mgr)
	return map[string]transport.Lister{
		"kube": dynamic, "shared": dynamic.Share(), "client": ctrlruntime.New(watching), "polling": ctrlruntime.New(polling), "manager": cached,
	}
}

// TestWaitForWorkloads waits for workloads of the real controllers, whose Pods are played by
// Stages, through every client.
func TestWaitForWorkloads(t *testing.T) {
	cluster := newCluster(t)
	startControllers(t, plane)
	playNodes(t, cluster, 1, presets.PodFast())
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: workloads}}")
	refs := []wait.Ref{refTo(deploymentKind, "workloads", "web"), refTo(jobKind, "workloads", "work")}
	var waits []*waitResult
	for _, c := range clients(t, plane.Config()) {
		w := waitFor(t, c, wait.Policy{Options: wait.Options{Rules: kstatus.Standard().WaitForJobs(true), Interval: 200 * time.Millisecond}}, refs...)
		w.requireState("web", kstatus.NotFound, "")
		waits = append(waits, w)
	}
	create(t, cluster, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: workloads},
  spec: {replicas: 10, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a1}]}}}}`)
	create(t, cluster, `{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: workloads}, spec: {parallelism: 2, completions: 4,
		template: {spec: {restartPolicy: Never, containers: [{name: a, image: a1}]}}}}`)
	for _, w := range waits {
		require.NoError(t, w.requireEnd())
	}
	work, err := cluster.Get(t.Context(), jobKind, types.NamespacedName{Namespace: "workloads", Name: "work"})
	require.NoError(t, err)
	require.Equal(t, "True", condition(work, "Complete"), "a Job that only runs is waited for")

	foreground := metav1.DeletePropagationForeground
	for _, ref := range refs {
		require.NoError(t, cluster.Delete(t.Context(), ref.Kind, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	}
	for _, c := range clients(t, plane.Config()) {
		require.NoError(t, waitFor(t, c, wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}}, refs...).requireEnd())
	}
}

// sprockets is the definition of a kind that comes while it is waited for. It has no
// status subresource, so that its objects can be created with a status.
const sprockets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: sprockets.%[1]s.example.com}, spec: {group: %[1]s.example.com, scope: Namespaced,
	names: {plural: sprockets, singular: sprocket, kind: Sprocket, listKind: SprocketList},
	  versions: [{name: v1, served: true, storage: true,
	schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

// sprocket is a ready object of the kind.
func sprocket(group, namespace, name string) string {
	return fmt.Sprintf(`{apiVersion: %s.example.com/v1, kind: Sprocket, metadata: {name: %s, namespace: %s},
  status: {conditions: [{type: Ready, status: "True"}]}}`, group, name, namespace)
}

// TestWaitForAKindThatComesLate waits for an object and for the definition of its kind.
func TestWaitForAKindThatComesLate(t *testing.T) {
	t.Parallel()
	for name, c := range clients(t, plane.Config()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, group := newCluster(t), "late-"+name
			kind := schema.GroupVersionKind{Group: group + ".example.com", Version: "v1", Kind: "Sprocket"}
			create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+group+"}}")
			definition := refTo(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "", "sprockets."+kind.Group)
			w := waitFor(t, c, wait.Policy{Options: wait.Options{Interval: 200 * time.Millisecond}}, refTo(kind, group, "a"), definition)
			w.requireState("a", kstatus.NotFound, "NoKind")
			define(t, cluster, fmt.Sprintf(sprockets, group))
			w.requireState("a", kstatus.NotFound, "")
			create(t, cluster, sprocket(group, group, "a"))
			require.NoError(t, w.requireEnd())
		})
	}
}

// TestWaitAmongForbiddenKinds waits as a user who may read only some kinds. Objects of the other
// kinds are Unknown, with the reason; the wait continues for the readable ones. Once the user may
// read all kinds, the wait ends.
func TestWaitAmongForbiddenKinds(t *testing.T) {
	t.Parallel()
	config := plane.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "reader"}
	for name, c := range clients(t, config) {
		if name == "manager" {
			continue // it reads all namespaces: see TestManagerMayNotRead
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, namespace := newCluster(t), "forbidden-"+name
			create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
			allow(t, cluster, namespace, "reader", "configmaps")
			w := waitFor(t, c, wait.Policy{Options: wait.Options{Interval: 200 * time.Millisecond}}, refTo(secretKind, namespace, "a"), refTo(configMapKind, namespace, "b"))
			require.ErrorContains(t, w.requireState("a", kstatus.Unknown, "Forbidden").Err, `User "reader" cannot list resource "secrets"`)
			create(t, cluster, "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: "+namespace+"}}")
			create(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: "+namespace+"}}")
			w.requireState("b", kstatus.Current, "")
			allow(t, cluster, namespace, "reader", "secrets")
			require.NoError(t, w.requireEnd())
		})
	}
}

// allow lets a user read a resource in a namespace.
func allow(t *testing.T, cluster *kube.Cluster, namespace, user, resource string) {
	t.Helper()
	create(t, cluster, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: %[1]s,
  namespace: %[2]s}, rules: [{apiGroups: [''], resources: [%[1]s], verbs: [get, list, watch]}]}`, resource, namespace))
	create(t, cluster, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s,
  namespace: %[2]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s},
		subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[3]s}]}`, resource, namespace, user))
}

// TestWaitOverRecreation waits for an object to be gone while another object takes its name, and
// for a new object to exist.
func TestWaitOverRecreation(t *testing.T) {
	t.Parallel()
	for name, c := range clients(t, plane.Config()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, namespace := newCluster(t), "again-"+name
			create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
			const manifest = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: %s, finalizers: [%s]},
  spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}`
			create(t, cluster, fmt.Sprintf(manifest, namespace, "example.com/held"))
			ref := refTo(podKind, namespace, "a")
			options := wait.Options{Interval: 100 * time.Millisecond}
			gone := waitFor(t, c, wait.Policy{Options: options, Goal: wait.Goal{Status: kstatus.NotFound}}, ref)
			first := gone.requireState("a", kstatus.InProgress, "PodPending")
			at := types.NamespacedName{Namespace: namespace, Name: "a"}
			require.NoError(t, cluster.Delete(t.Context(), podKind, at, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
			gone.requireState("a", kstatus.Terminating, "")
			there := waitFor(t, c, wait.Policy{Options: options}, ref)
			there.requireState("a", kstatus.Terminating, "")
			_, err := cluster.Patch(t.Context(), podKind, at, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			create(t, cluster, fmt.Sprintf(manifest, namespace, ""))
			require.NoError(t, gone.requireEnd(), "%v is gone, although there is another", first)
			_, err = cluster.Patch(t.Context(), podKind, at, types.MergePatchType, []byte(`{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
			require.NoError(t, there.requireEnd())
		})
	}
}

// TestWaitOverACutWatch cuts the connection while an object reaches the wanted state. The wait
// continues when the connection is back.
func TestWaitOverACutWatch(t *testing.T) {
	t.Parallel()
	config, line := plane.Config(), (*breakableConnection)(nil)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		line = &breakableConnection{RoundTripper: next}
		return line
	})
	cut, err := kube.NewForConfig(config)
	require.NoError(t, err)
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: cut}}")
	create(t, cluster, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: cut}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}")
	create(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: cut, finalizers: [example.com/held]}}")
	w := waitFor(t, cut, wait.Policy{
		Options: wait.Options{Retry: 200 * time.Millisecond}, Goals: map[wait.Ref]wait.Goal{refTo(configMapKind, "cut", "b"): {Status: kstatus.NotFound}},
	}, refTo(podKind, "cut", "a"), refTo(configMapKind, "cut", "b"))
	w.requireState("a", kstatus.InProgress, "PodPending")
	w.requireState("b", kstatus.Current, "")
	line.breakAll()
	require.ErrorIs(t, w.requireState("a", kstatus.Unknown, "LookUpFailed").Err, errBroken)
	_, err = cluster.Patch(t.Context(), podKind, types.NamespacedName{Namespace: "cut", Name: "a"}, types.MergePatchType,
		[]byte(`{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	b := types.NamespacedName{Namespace: "cut", Name: "b"}
	require.NoError(t, cluster.Delete(t.Context(), configMapKind, b, metav1.DeleteOptions{}))
	_, err = cluster.Patch(t.Context(), configMapKind, b, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	line.broken.Store(false)
	require.NoError(t, w.requireEnd())
}
