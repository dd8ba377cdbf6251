package wait_test

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}]
`

var (
	web    = pod("web")
	config = ref("v1", "ConfigMap", "config")
	secret = ref("v1", "Secret", "secret")
	widget = ref("example.com/v1", "Widget", "widget")
	job    = ref("batch/v1", "Job", "job")
	rs     = ref("apps/v1", "ReplicaSet", "rs")
	claim  = ref("v1", "PersistentVolumeClaim", "claim")
	node   = ref("v1", "Node", "node")

	widgets = wait.Ref{Kind: schema.FromAPIVersionAndKind("apiextensions.k8s.io/v1", "CustomResourceDefinition"), Name: "widgets.example.com"}
)

func scenarios() []scenario {
	return slices.Concat(lives(), goals(), ends(), deletedWhenFinished(), missingForTooLong(), troubles(), withChildren(), manyParents())
}

// lives are what can become of an object.
func lives() []scenario {
	return []scenario{
		{
			name: "nothing to wait for",
		}, {
			name: "ready from the start", refs: []wait.Ref{web, config, web},
			before: func(w world) { w.create(manifest(web, "status: "+podReady), manifest(config, "")) },
			want:   "config: Current; web: Current",
		}, {
			name: "created late", refs: []wait.Ref{web},
			script: do(create(web, "status: {phase: Pending}"), status(web, podReady)),
			want:   "web: NotFound InProgress Current", after: 10 * time.Second,
		}, {
			name: "kind defined late", refs: []wait.Ref{widget, config},
			before: create(config, ""),
			script: do(nothing, nothing, func(w world) { w.create(definition) }, create(widget, "status: {conditions: [{type: Ready, status: 'False'}]}"), nothing, nothing,
				status(widget, "{conditions: [{type: Ready, status: 'True'}]}")),
			want: "config: Current; widget: NotFound InProgress Current", after: 35 * time.Second,
		}, {
			name: "kind taken away and defined again", refs: []wait.Ref{widget},
			before: func(w world) {
				w.create(definition, manifest(widget, "status: {conditions: [{type: Ready, status: 'False'}]}"))
			},
			script: do(remove(widgets), func(w world) {
				w.create(definition, manifest(widget, "status: {conditions: [{type: Ready, status: 'True'}]}"))
			}),
			want: "widget: InProgress NotFound Current", after: 10 * time.Second,
		}, {
			name: "gone before its time is up", refs: []wait.Ref{web}, timeout: 30 * time.Second,
			before: create(web, "status: "+unschedulable),
			script: do(remove(web)),
			want:   "web: InProgress NotFound", after: 30 * time.Second, err: context.DeadlineExceeded,
		}, {
			name: "held back by a finalizer", refs: []wait.Ref{config}, policy: wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}}, timeout: 20 * time.Second,
			before: create(config, "  finalizers: [example.com/mine]"),
			script: do(remove(config)),
			want:   "config: Current Terminating", after: 20 * time.Second,
			err: context.DeadlineExceeded, says: []string{"ConfigMap default/config: Terminating (want NotFound) for 1", "s: Resource scheduled for deletion"},
		}, {
			name: "flapping", refs: []wait.Ref{web, config},
			before: create(web, "status: "+podReady),
			script: do(status(web, podUnready), status(web, podReady), status(web, podUnready), create(config, ""), status(web, podReady)),
			want:   "config: NotFound Current; web: Current InProgress Current InProgress Current", after: 25 * time.Second,
		}, {
			name: "deleted and recreated", refs: []wait.Ref{web},
			before: create(web, "status: "+podUnready),
			script: do(remove(web), create(web, "status: {phase: Pending}"), status(web, podReady)),
			want:   "web: InProgress NotFound InProgress Current", after: 15 * time.Second,
		}, {
			name: "unschedulable, in the words of the scheduler", refs: []wait.Ref{web},
			policy: wait.Policy{FailFast: true},
			before: create(web, "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/3 nodes are available: 3 Insufficient cpu.'}]}"),
			want:   "web: InProgress", after: time.Minute,
			err: context.DeadlineExceeded, says: []string{"Pod default/web: InProgress for 1m0s, Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."},
		}, {
			name: "unschedulable for longer than it may", refs: []wait.Ref{web},
			policy: wait.Policy{FailFast: true, Options: wait.Options{Rules: kstatus.Standard()}},
			before: create(web, "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}"),
			want:   "web: InProgress Failed", after: 15 * time.Second,
			err: wait.ErrFailed, says: []string{"1 of 1 objects", "Pod default/web: Failed, PodUnschedulable: Pod could not be scheduled"},
		},
	}
}

// goals are what can be waited for.
func goals() []scenario {
	return []scenario{
		{
			name: "until it is gone", refs: []wait.Ref{web},
			policy: wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}},
			before: create(web, "status: "+podCrashes),
			script: do(nothing, remove(web)),
			want:   "web: Failed NotFound", after: 10 * time.Second,
		}, {
			name: "until it is gone, of a kind that is not there", refs: []wait.Ref{widget},
			policy: wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}},
			want:   "widget: NotFound",
		}, {
			name: "until it is gone, though another takes its name", refs: []wait.Ref{config},
			policy: wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}},
			before: create(config, ""),
			script: do(nothing, func(w world) { w.remove(config); w.create(manifest(config, "")) }),
			want:   "config: Current NotFound", polled: "config: Current", after: 10 * time.Second,
		}, {
			name: "each object its own goal", refs: []wait.Ref{web, config},
			policy: wait.Policy{Goals: map[wait.Ref]wait.Goal{config: {Status: kstatus.NotFound}}},
			before: func(w world) { w.create(manifest(web, "status: "+podUnready), manifest(config, "")) },
			script: do(status(web, podReady), remove(config)),
			want:   "config: Current NotFound; web: InProgress Current", after: 10 * time.Second,
		}, {
			name: "absent is as good", refs: []wait.Ref{web, config},
			policy: wait.Policy{Goal: wait.Goal{AbsentOK: true}},
			before: create(web, "status: "+podUnready),
			script: do(status(web, podReady)),
			want:   "config: NotFound; web: InProgress Current", after: 5 * time.Second,
		},
	}
}

// ends are how a wait can end.
func ends() []scenario {
	return []scenario{
		{
			name: "failed for good, the others are waited for", refs: []wait.Ref{job, web},
			before: func(w world) {
				w.create(manifest(job, "status: {failed: 1, conditions: [{type: Failed, status: 'True'}]}"), manifest(web, "status: "+podUnready))
			},
			script: do(nothing, status(web, podReady)),
			want:   "job: Failed; web: InProgress Current", after: 10 * time.Second,
			err: wait.ErrFailed, says: []string{"1 of 2 objects", "Job.batch default/job: Failed for 1", "JobFailed: Job Failed. failed: 1/1"},
		}, {
			name: "failed for now", refs: []wait.Ref{web},
			before: create(web, "status: "+podCrashes),
			script: do(nothing, status(web, podReady)),
			want:   "web: Failed Current", after: 10 * time.Second,
		}, {
			name: "failing fast", refs: []wait.Ref{config, web},
			policy: wait.Policy{FailFast: true},
			before: create(web, "status: "+podUnready),
			script: do(status(web, podCrashes)),
			want:   "config: NotFound; web: InProgress Failed", after: 5 * time.Second,
			err: wait.ErrFailed, says: []string{"2 of 2 objects", "Failed, CrashLoopBackOff: Container app: CrashLoopBackOff", "ConfigMap default/config: NotFound for "},
		}, {
			name: "suspended, until it is resumed", refs: []wait.Ref{job},
			before: create(job, "spec: {suspend: true}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}"),
			script: do(nothing, resume(job), status(job, "{conditions: [{type: Complete, status: 'True'}]}")),
			want:   "job: Current InProgress Current", after: 15 * time.Second,
		}, {
			name: "suspended, for ever", refs: []wait.Ref{job},
			before: create(job, "spec: {suspend: true}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}"),
			want:   "job: Current", after: time.Minute,
			err: context.DeadlineExceeded, says: []string{"Job.batch default/job: Current (suspended) for 1m0s: Job is suspended"},
		}, {
			name: "suspended is as good", refs: []wait.Ref{job},
			policy: wait.Policy{IgnoreSuspended: true},
			before: create(job, "spec: {suspend: true}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}"),
			want:   "job: Current",
		}, {
			name: "one fails, one takes too long", refs: []wait.Ref{job, config},
			policy: wait.Policy{Goals: map[wait.Ref]wait.Goal{config: {Status: kstatus.NotFound, Timeout: 10 * time.Second}}},
			before: all(create(job, "status: {failed: 1, conditions: [{type: Failed, status: 'True'}]}"), create(config, "")),
			want:   "config: Current; job: Failed", after: 10 * time.Second,
			err: wait.ErrTimedOut, says: []string{"done: objects failed, objects took too long\n", "ConfigMap default/config: Current (want NotFound, timed out) for 10s"},
		}, {
			name: "each object its own time", refs: []wait.Ref{web, config, secret},
			policy: wait.Policy{Goal: wait.Goal{Timeout: 10 * time.Second}, Goals: map[wait.Ref]wait.Goal{config: {Timeout: 20 * time.Second}}},
			before: create(secret, ""),
			script: do(nothing, nothing, create(web, "status: "+podReady)),
			want:   "config: NotFound; secret: Current; web: NotFound Current", after: 20 * time.Second,
			err: wait.ErrTimedOut, says: []string{"2 of 3 objects", "ConfigMap default/config: NotFound (timed out) for 20s"},
		},
	}
}

// clusterNode creates a Node, which has no namespace.
func clusterNode(w world) { w.create("{apiVersion: v1, kind: Node, metadata: {name: node}}") }

// troubles are what can go wrong on the way.
func troubles() []scenario {
	return []scenario{
		{
			name: "a kind is forbidden, the others are not", refs: []wait.Ref{secret, web}, timeout: 20 * time.Second,
			transport: func(c *memory.Cluster) transport.Reader { return &faulty{Cluster: c, forbidden: "Secret"} },
			before:    create(secret, ""),
			script:    do(create(web, "status: "+podReady)),
			want:      "secret: Unknown; web: NotFound Current", after: 20 * time.Second,
			err: context.DeadlineExceeded, says: []string{"1 of 2 objects", "Secret default/secret: Unknown for 20s, Forbidden: "},
		}, {
			name: "a kind is forbidden for a while", refs: []wait.Ref{secret},
			transport: func(c *memory.Cluster) transport.Reader {
				return &faulty{Cluster: c, forbidden: "Secret", until: time.Now().Add(12 * time.Second)}
			},
			before: create(secret, ""),
			want:   "secret: Unknown Current", after: 12 * time.Second,
		}, {
			name: "a kind can be listed only", refs: []wait.Ref{web},
			transport: func(c *memory.Cluster) transport.Reader { return &faulty{Cluster: c, unwatchable: true} },
			script:    do(create(web, "status: "+podUnready), status(web, podReady)),
			want:      "web: NotFound InProgress Current", after: 10 * time.Second,
		}, {
			name: "the watch is dropped and resumed", refs: []wait.Ref{web},
			transport: func(c *memory.Cluster) transport.Reader { return &faulty{Cluster: c, cut: 3 * time.Second} },
			script:    do(create(web, "status: "+podUnready), nothing, remove(web), nothing, create(web, "status: "+podReady)),
			want:      "web: NotFound InProgress NotFound Current", after: 25 * time.Second,
		}, {
			name: "the watch falls too far behind", refs: []wait.Ref{web},
			transport: func(c *memory.Cluster) transport.Reader {
				return &faulty{Cluster: c, cut: 3 * time.Second, expire: true}
			},
			script: do(create(web, "status: "+podUnready), nothing, remove(web), nothing, create(web, "status: "+podReady)),
			want:   "web: NotFound InProgress NotFound Current", after: 25 * time.Second,
		}, {
			name: "a reference without a namespace", refs: []wait.Ref{{Kind: web.Kind, Name: "web"}},
			before: create(web, "status: "+podReady),
			want:   "web: Unknown",
			err:    wait.ErrFailed, says: []string{"Pod web: Unknown, NoNamespace: "},
		}, {
			name: "a reference without a namespace, to what is not there yet", refs: []wait.Ref{{Kind: web.Kind, Name: "web"}},
			script: do(create(web, "status: "+podReady)),
			want:   "web: Unknown", // every Pod has a namespace
			err:    wait.ErrFailed, says: []string{"Pod web: Unknown, NoNamespace: "},
		}, {
			name: "a reference with a namespace that its kind has not", refs: []wait.Ref{node},
			policy: wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}},
			before: clusterNode,
			want:   "node: Unknown",
			err:    wait.ErrFailed, says: []string{"Node default/node: Unknown (want NotFound), NotNamespaced: "},
		}, {
			name: "a reference with a namespace that its kind has not, to what is not there yet", refs: []wait.Ref{node, ref("v1", "Node", "other")},
			script: do(clusterNode),
			want:   "node: NotFound Unknown; other: NotFound Unknown", after: 5 * time.Second,
			err: wait.ErrFailed, says: []string{"2 of 2", "Node default/node: Unknown, NotNamespaced: ", "Node default/other: Unknown, NotNamespaced: "},
		}, {
			name: "a kind that nobody serves", refs: []wait.Ref{widget},
			want: "widget: NotFound", after: time.Minute,
			err: context.DeadlineExceeded, says: []string{"NotFound for 1m0s, NoKind: The cluster has no Widget.example.com in version v1"},
		}, {
			name: "pages expire", refs: []wait.Ref{web},
			transport: func(c *memory.Cluster) transport.Reader { return &faulty{Cluster: c, expirePages: true} },
			before:    create(web, "status: "+podReady),
			want:      "web: Current",
		},
	}
}

// faulty is a cluster that is trouble.
type faulty struct {
	*memory.Cluster
	forbidden   string    // kind
	until       time.Time // zero: forever
	unwatchable bool
	cut         time.Duration // how long a watch lasts
	expire      bool          // every second watch is told that its version is too old
	watches     atomic.Int32
	expirePages bool
}

func (f *faulty) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	switch {
	case kind.Kind == f.forbidden && (f.until.IsZero() || time.Now().Before(f.until)):
		return nil, apierrors.NewForbidden(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, "", nil)
	case f.expirePages && o.Limit > 0:
		return nil, apierrors.NewResourceExpired("too old")
	}
	return f.Cluster.List(ctx, kind, namespace, o)
}

func (f *faulty) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	if f.unwatchable {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, "watch")
	}
	if n := f.watches.Add(1); f.expire && n%2 == 0 {
		return nil, apierrors.NewResourceExpired("too old")
	}
	if f.cut > 0 {
		seconds := int64(f.cut / time.Second)
		o.TimeoutSeconds = &seconds
	}
	return f.Cluster.Watch(ctx, kind, namespace, o)
}
