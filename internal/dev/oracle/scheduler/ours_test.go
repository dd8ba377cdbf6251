package scheduler

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A decision is what is said about one Pod.
type decision struct {
	node, message, nominated string
	victims                  []string
	scores                   map[string]map[string]int64
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// ours is our scheduler, alone on a cluster in memory.
type ours struct {
	t         testing.TB
	sim       *simulation.Simulation
	decisions []scheduling.Decision
}

func newOurs(t testing.TB, objects ...runtime.Object) *ours {
	o := &ours{t: t}
	var err error
	o.sim, err = simulation.New(stage.MustCompile(), simulation.Options{
		Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Controllers: []reconcile.Controller{scheduling.Scheduler(scheduling.Options{
			Trace: func(d scheduling.Decision) { o.decisions = append(o.decisions, d) },
		})},
	})
	require.NoError(t, err)
	for _, obj := range objects {
		o.create(obj)
	}
	o.advance()
	return o
}

func (o *ours) advance() { require.NoError(o.t, o.sim.Advance(context.Background(), time.Second)) }

func (o *ours) create(obj runtime.Object) {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	require.NoError(o.t, err)
	obj.GetObjectKind().SetGroupVersionKind(gvks[0])
	data, err := json.Marshal(obj)
	require.NoError(o.t, err)
	require.NoError(o.t, o.sim.Cluster().Load(context.Background(), data))
}

// schedule creates a Pod and returns what is decided about it.
func (o *ours) schedule(p *corev1.Pod) decision {
	o.decisions = nil
	o.create(p)
	o.advance()
	require.NotEmpty(o.t, o.decisions, p.Name)
	first := o.decisions[0]
	d := decision{node: first.Node, message: first.Message, nominated: first.NominatedNode, scores: first.Scores}
	for _, v := range first.Victims {
		d.victims = append(d.victims, v.Name)
	}
	slices.Sort(d.victims)
	if first.Node == "" && first.NominatedNode == "" {
		name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		require.NoError(o.t, o.sim.Cluster().Delete(context.Background(), podKind, name, metav1.DeleteOptions{}))
		o.advance()
	}
	return d
}
