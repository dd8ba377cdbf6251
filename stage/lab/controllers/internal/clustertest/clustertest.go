// Package clustertest has a cluster in virtual time in which all controllers run, for their tests.
package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A Cluster fails its test when a request fails. Objects are in the namespace default unless they
// say otherwise.
type Cluster struct {
	*simulation.Simulation
	// Errors are the errors of controllers.
	Errors []string

	t testing.TB
}

// Options of [New]. The zero value is the default.
type Options struct {
	// Pods are the Stages of Pods. Default presets.PodFast.
	Pods func() stage.Source
	// Nodes is the number of Nodes. Their names begin with node-000; each has 32 CPUs.
	Nodes int
	// Others are more Stages, of Nodes for example.
	Others []stage.Source
	Seed   uint64
	// Trace is called with the actions of controllers and Stages.
	Trace func(string)
	// MinInterval is reconcile.Options.MinInterval.
	MinInterval time.Duration
	// Timing is how long things take. Default: no time.
	Timing *simulation.Timing
}

const node = `
apiVersion: v1
kind: Node
metadata: {name: node-%03d}
status:
  allocatable: {cpu: "32", memory: 128Gi, pods: "200"}
  capacity: {cpu: "32", memory: 128Gi, pods: "200"}
`

// New returns a cluster. Its time begins with the year 2026.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Pods == nil {
		o.Pods = presets.PodFast
	}
	c := &Cluster{t: t}
	var err error
	c.Simulation, err = simulation.New(stage.MustCompile(append(o.Others, o.Pods(), presets.NodeFast())...), simulation.Options{
		Hooks:       []memory.Hooks{admission.Hooks()},
		Seed:        o.Seed,
		Start:       time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Controllers: controllers.All(controllers.Options{}),
		Filter:      controllers.Bound,
		Timing:      o.Timing,
		Kubelet:     nodes.KubeletRuns,
		Reconcile:   reconcile.Options{MinInterval: o.MinInterval, Trace: c.traceReconcile(o.Trace)},
		Trace: func(e stage.TraceEvent) {
			if o.Trace != nil && (e.Kind == stage.TracePlayed || e.Kind == stage.TraceFailed) {
				o.Trace(e.Time.Format(time.RFC3339Nano) + " " + e.String())
			}
		},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for i := range o.Nodes {
		c.Load(fmt.Sprintf(node, i))
	}
	c.Settle()
	return c
}

func (c *Cluster) traceReconcile(trace func(string)) func(reconcile.TraceEvent) {
	return func(e reconcile.TraceEvent) {
		if e.Err != nil {
			c.Errors = append(c.Errors, e.String())
		}
		if trace != nil {
			trace(e.Time.Format(time.RFC3339Nano) + " " + e.String())
		}
	}
}

// Load creates or changes objects, as YAML.
func (c *Cluster) Load(text string) {
	c.t.Helper()
	require.NoError(c.t, c.Cluster().Load(context.Background(), []byte(text)))
}

// Settle lets an hour of virtual time pass.
func (c *Cluster) Settle() {
	c.t.Helper()
	_, err := c.Simulation.Settle(context.Background(), time.Hour)
	require.NoError(c.t, err)
}

// Advance lets time pass.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	require.NoError(c.t, c.Simulation.Advance(context.Background(), d))
}

// EachStep calls a function after everything that happens at one time, for a while.
func (c *Cluster) EachStep(d time.Duration, look func()) {
	end := c.Now().Add(d)
	for at, ok := c.Next(); ok && !at.After(end); at, ok = c.Next() {
		_, err := c.Step(context.Background())
		require.NoError(c.t, err)
		look()
	}
	c.Advance(end.Sub(c.Now()))
}

// named returns the name of an object in the namespace default.
func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// Patch changes an object by a strategic merge patch, as YAML.
func (c *Cluster) Patch(kind, name, text string, subresource ...string) {
	c.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(c.t, err)
	o := metav1.PatchOptions{}
	_, err = c.Cluster().Patch(context.Background(), Kind(kind), named(name), types.StrategicMergePatchType, data, o, subresource...)
	require.NoError(c.t, err)
}

// Delete deletes an object.
func (c *Cluster) Delete(kind, name string) {
	c.t.Helper()
	require.NoError(c.t, c.Cluster().Delete(context.Background(), Kind(kind), named(name), metav1.DeleteOptions{}))
}

// DeleteNow deletes an object without a grace period.
func (c *Cluster) DeleteNow(kind, name string) {
	c.t.Helper()
	o := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	require.NoError(c.t, c.Cluster().Delete(context.Background(), Kind(kind), named(name), o))
}

// DeleteInForeground deletes an object after its dependents.
func (c *Cluster) DeleteInForeground(kind, name string) {
	c.t.Helper()
	policy := metav1.DeletePropagationForeground
	require.NoError(c.t, c.Cluster().Delete(context.Background(), Kind(kind), named(name), metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// Require fails the test if two values differ.
func (c *Cluster) Require(want, got any) {
	c.t.Helper()
	require.Equal(c.t, want, got)
}

// Get returns an object.
func (c *Cluster) Get(kind, name string) *unstructured.Unstructured {
	c.t.Helper()
	obj, err := c.Cluster().Get(context.Background(), Kind(kind), named(name))
	require.NoError(c.t, err)
	return obj
}

// List returns the objects of a kind, in all namespaces, whose labels match a selector.
func (c *Cluster) List(kind, selector string) []unstructured.Unstructured {
	c.t.Helper()
	found, err := c.Cluster().List(context.Background(), Kind(kind), "", metav1.ListOptions{LabelSelector: selector})
	require.NoError(c.t, err)
	return found.Items
}

// Names returns the names of the objects of List.
func (c *Cluster) Names(kind, selector string) (names []string) {
	c.t.Helper()
	for _, obj := range c.List(kind, selector) {
		names = append(names, obj.GetName())
	}
	return names
}

// Images returns the image of the first container of Pods, by name of the Pod.
func (c *Cluster) Images(selector string) map[string]string {
	c.t.Helper()
	images := map[string]string{}
	for _, p := range c.List("Pod", selector) {
		images[p.GetName()] = Image(p.Object, "spec", "containers")
	}
	return images
}

// Image returns the image of the first container at a path.
func Image(obj map[string]any, path ...string) string {
	containers, _, _ := unstructured.NestedSlice(obj, path...)
	image, _ := containers[0].(map[string]any)["image"].(string)
	return image
}

// CountPods counts the Pods of the namespace default that are not being deleted, and the ready Pods
// among them.
func (c *Cluster) CountPods() (all, ready int) {
	found, err := c.Cluster().Shared().List(context.Background(), Kind("Pod"), "default", metav1.ListOptions{})
	require.NoError(c.t, err)
	for _, p := range found.Items {
		if p.GetDeletionTimestamp() != nil {
			continue
		}
		all++
		if conditionOf(p.Object, "Ready")["status"] == "True" {
			ready++
		}
	}
	return all, ready
}

func conditionOf(obj map[string]any, kind string) map[string]any {
	field, _, _ := unstructured.NestedFieldNoCopy(obj, "status", "conditions")
	list, _ := field.([]any)
	for _, v := range list {
		if c, _ := v.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return map[string]any{}
}
