package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// lab is a cluster with all controllers, in virtual time.
type lab struct {
	t     testing.TB
	sim   *simulation.Simulation
	fails []string // what controllers failed with
}

// setting is what a lab is made of.
type setting struct {
	pods  func() stage.Source // default: presets.PodFast
	nodes int
	seed  uint64
	trace func(string)
	rest  time.Duration // of keys between reconciles
}

func newLab(t testing.TB, s setting) *lab {
	if s.pods == nil {
		s.pods = presets.PodFast
	}
	l := &lab{t: t}
	var err error
	l.sim, err = simulation.New(stage.MustCompile(s.pods(), presets.NodeFast()), simulation.Options{
		Seed:        s.seed,
		Start:       time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Controllers: controllers.All(controllers.Options{}),
		Filter:      controllers.Bound,
		Reconcile: reconcile.Options{MinInterval: s.rest, Trace: func(e reconcile.TraceEvent) {
			if e.Err != nil {
				l.fails = append(l.fails, e.String())
			}
			if s.trace != nil {
				s.trace(e.Time.Format(time.RFC3339Nano) + " " + e.String())
			}
		}},
		Trace: func(e stage.TraceEvent) {
			if s.trace != nil && (e.Kind == stage.TracePlayed || e.Kind == stage.TraceFailed) {
				s.trace(e.Time.Format(time.RFC3339Nano) + " " + e.String())
			}
		},
	})
	require.NoError(t, err)
	for i := range s.nodes {
		l.load(fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: node-%03d}, status: {allocatable: {cpu: "32", memory: 128Gi, pods: "200"}, capacity: {cpu: "32", memory: 128Gi, pods: "200"}}}`, i))
	}
	l.settle()
	return l
}

func (l *lab) load(text string) {
	l.t.Helper()
	require.NoError(l.t, l.sim.Cluster().Load(context.Background(), []byte(text)))
}

// settle lets happen what is to happen within an hour.
func (l *lab) settle() {
	l.t.Helper()
	_, err := l.sim.Settle(context.Background(), time.Hour)
	require.NoError(l.t, err)
}

func (l *lab) advance(d time.Duration) {
	l.t.Helper()
	require.NoError(l.t, l.sim.Advance(context.Background(), d))
}

var kinds = map[string]schema.GroupVersionKind{}

func init() {
	for gv, names := range map[string][]string{
		"v1":                   {"Pod", "Node", "Service", "Endpoints", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController"},
		"apps/v1":              {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision"},
		"batch/v1":             {"Job", "CronJob"},
		"storage.k8s.io/v1":    {"StorageClass"},
		"discovery.k8s.io/v1":  {"EndpointSlice"},
		"policy/v1":            {"PodDisruptionBudget"},
		"networking.k8s.io/v1": {"Ingress"},
	} {
		for _, name := range names {
			kinds[name] = schema.FromAPIVersionAndKind(gv, name)
		}
	}
}

func (l *lab) get(kind, name string) *unstructured.Unstructured {
	l.t.Helper()
	obj, err := l.sim.Cluster().Get(context.Background(), kinds[kind], types.NamespacedName{Namespace: "default", Name: name})
	require.NoError(l.t, err)
	return obj
}

// list returns the objects of a kind whose labels match.
func (l *lab) list(kind, labels string) []unstructured.Unstructured {
	l.t.Helper()
	found, err := l.sim.Cluster().List(context.Background(), kinds[kind], "", metav1.ListOptions{LabelSelector: labels})
	require.NoError(l.t, err)
	return found.Items
}

// patch changes an object by YAML.
func (l *lab) patch(kind, name, text string, subresource ...string) {
	l.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(l.t, err)
	_, err = l.sim.Cluster().Patch(context.Background(), kinds[kind], types.NamespacedName{Namespace: "default", Name: name}, types.StrategicMergePatchType, data, metav1.PatchOptions{}, subresource...)
	require.NoError(l.t, err)
}

func (l *lab) delete(kind, name string) {
	l.t.Helper()
	require.NoError(l.t, l.sim.Cluster().Delete(context.Background(), kinds[kind], types.NamespacedName{Namespace: "default", Name: name}, metav1.DeleteOptions{}))
}

// status returns the status of an object as YAML.
func (l *lab) status(kind, name string) string {
	l.t.Helper()
	data, err := yaml.Marshal(l.get(kind, name).Object["status"])
	require.NoError(l.t, err)
	return string(data)
}

// requireStatus compares the whole status of an object.
func (l *lab) requireStatus(kind, name, want string) {
	l.t.Helper()
	require.YAMLEq(l.t, want, l.status(kind, name), "%s", l.status(kind, name))
}

// requireCurrent asks both profiles.
func (l *lab) requireCurrent(kind, name string) {
	l.t.Helper()
	obj := l.get(kind, name)
	for profile, rules := range map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()} {
		result := rules.Compute(obj, l.sim.Now())
		require.Equal(l.t, kstatus.Current, result.Status, "%s %s by %s: %v\n%s", kind, name, profile, result, l.status(kind, name))
	}
}

func (l *lab) field(kind, name string, path ...string) any {
	l.t.Helper()
	v, _, _ := unstructured.NestedFieldNoCopy(l.get(kind, name).Object, path...)
	return v
}

func (l *lab) condition(kind, name, condition string) map[string]any {
	l.t.Helper()
	list, _ := l.field(kind, name, "status", "conditions").([]any)
	for _, v := range list {
		if c := v.(map[string]any); c["type"] == condition {
			return c
		}
	}
	return map[string]any{}
}

// reason is that of a condition, with its status.
func (l *lab) reason(kind, name, condition string) string {
	l.t.Helper()
	c := l.condition(kind, name, condition)
	return fmt.Sprint(c["status"], " ", c["reason"])
}

func (l *lab) message(kind, name, condition string) any {
	l.t.Helper()
	return l.condition(kind, name, condition)["message"]
}
