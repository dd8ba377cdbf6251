package wait_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

const (
	selects       = "spec: {replicas: 1, selector: {matchLabels: {app: web}}}"
	setReady      = "{replicas: 1, fullyLabeledReplicas: 1, availableReplicas: 1, readyReplicas: 1}"
	unschedulable = "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}"
)

var (
	deployment = ref("apps/v1", "Deployment", "web")
	oldSet     = ref("apps/v1", "ReplicaSet", "web-1")
	newSet     = ref("apps/v1", "ReplicaSet", "web-2")
)

// own creates an object with an owner that is there, and a revision as a Deployment numbers them.
func own(child, owner wait.Ref, revision int, rest string) func(world) {
	return func(w world) {
		parent, err := w.Get(w.t.Context(), owner.Kind, name(owner))
		require.NoError(w.t, err)
		version, kind := owner.Kind.ToAPIVersionAndKind()
		w.create(manifest(child, fmt.Sprintf("  labels: {app: web}\n  annotations: {deployment.kubernetes.io/revision: '%d'}\n"+
			"  ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]\n%s",
			revision, version, kind, owner.Name, parent.GetUID(), rest)))
	}
}

func all(acts ...func(world)) func(world) {
	return func(w world) {
		for _, act := range acts {
			act(w)
		}
	}
}

// withChildren are scenarios in which children change the verdict on their owner.
func withChildren() []scenario {
	return []scenario{
		{
			name: "a failed child", refs: []wait.Ref{rs}, policy: wait.Policy{FailFast: true},
			before: create(rs, selects),
			script: do(own(web, rs, 0, "status: "+podUnready), status(web, podCrashes)),
			want:   "rs: InProgress Failed", after: 10 * time.Second,
			err: wait.ErrFailed, says: []string{"ReplicaSet.apps default/rs: Failed, PodsFailed: web: Container app: CrashLoopBackOff"},
		}, {
			name: "a failed child that is replaced", refs: []wait.Ref{rs},
			before: all(create(rs, selects), own(web, rs, 0, "status: "+podCrashes)),
			script: do(remove(web), own(pod("web-b"), rs, 0, "status: "+podReady), status(rs, setReady)),
			want:   "rs: InProgress Failed InProgress Current", after: 15 * time.Second,
		}, {
			name: "a child that fails as time goes by", refs: []wait.Ref{rs}, policy: wait.Policy{FailFast: true, Options: wait.Options{Rules: kstatus.Standard()}},
			before: create(rs, selects),
			script: do(own(web, rs, 0, "status: "+unschedulable)),
			want:   "rs: InProgress Failed", after: 20 * time.Second, err: wait.ErrFailed,
		}, {
			name: "children that do not matter", refs: []wait.Ref{rs}, policy: wait.Policy{FailFast: true, Options: wait.Options{Alone: true}},
			before: all(create(rs, selects), own(web, rs, 0, "status: "+podCrashes)),
			script: do(status(rs, setReady)),
			want:   "rs: InProgress Current", after: 5 * time.Second,
		}, {
			name: "children that cannot be read", refs: []wait.Ref{rs}, timeout: 8 * time.Second,
			transport: func(c *memory.Cluster) transport.Reader { return &faulty{Cluster: c, forbidden: "Pod"} },
			before:    all(create(rs, selects), own(web, rs, 0, "status: "+podCrashes)),
			want:      "rs: InProgress", after: 8 * time.Second,
			err: context.DeadlineExceeded, says: []string{"InProgress for 8s, LessLabelled: Labelled: 0/1 (Pod is forbidden"},
		}, {
			name: "a Deployment rolls out", refs: []wait.Ref{deployment},
			before: all(create(deployment, "  annotations: {deployment.kubernetes.io/revision: '2'}\n"+selects),
				own(oldSet, deployment, 1, selects), own(pod("old"), oldSet, 0, "status: "+podCrashes)),
			script: do(own(newSet, deployment, 2, selects), own(web, newSet, 0, "status: "+podCrashes), status(web, podReady),
				status(deployment, "{observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, "+
					"conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}")),
			want: "web: InProgress Failed InProgress Current", after: 20 * time.Second,
		}, {
			name: "a Job names the exit code of its Pod", refs: []wait.Ref{job},
			before: all(create(job, "spec: {selector: {matchLabels: {app: web}}}\nstatus: {active: 1, startTime: '2026-01-01T00:00:00Z'}"),
				own(web, job, 0, "status: {phase: Running, conditions: []}")),
			script: do(status(web, "{phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3}}}]}"), status(job, jobFailed)),
			want:   "job: InProgress Failed", after: 10 * time.Second,
			err: wait.ErrFailed, says: []string{"Failed, BackoffLimitExceeded: too many; web: Container app exited with code 3"},
		}, {
			name: "a claim that waits for its first consumer", refs: []wait.Ref{claim},
			before: create(claim, "spec: {storageClassName: local}\nstatus: {phase: Pending}"),
			script: do(func(w world) {
				w.create("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local}\nvolumeBindingMode: WaitForFirstConsumer")
			}),
			want: "claim: InProgress Current", after: 5 * time.Second,
		},
	}
}

// manyParents are more parents than have a source each. The last two change, the others stay in
// progress.
func manyParents() (scenarios []scenario) {
	last, other := crowded(11), crowded(10)
	fails := own(web, last, 0, "status: "+podCrashes)
	for _, s := range []scenario{
		{name: "a child fails", script: do(fails), want: "set-10: InProgress; set-11: InProgress Failed"},
		{name: "a child is released", script: do(fails, adopt(web)), want: "set-10: InProgress; set-11: InProgress Failed InProgress"},
		{name: "a child is adopted", script: do(fails, adopt(web, other)), want: "set-10: InProgress Failed; set-11: InProgress Failed InProgress"},
	} {
		s.name, s.timeout, s.after, s.err = "many parents, "+s.name, 20*time.Second, 20*time.Second, context.DeadlineExceeded
		var others string
		var before []func(world)
		for i := range 12 {
			s.refs = append(s.refs, crowded(i))
			before = append(before, create(crowded(i), "spec: {replicas: 1, selector: {matchLabels: {app: web, set: s"+crowded(i).Name+"}}}"))
			if i < 10 {
				others += crowded(i).Name + ": InProgress; "
			}
		}
		s.want, s.before = others+s.want, all(before...)
		scenarios = append(scenarios, s)
	}
	return scenarios
}

func crowded(i int) wait.Ref { return ref("apps/v1", "ReplicaSet", fmt.Sprintf("set-%02d", i)) }

// adopt gives a Pod other owners, or none.
func adopt(child wait.Ref, owners ...wait.Ref) func(world) {
	return func(w world) {
		var references []metav1.OwnerReference
		controls := true
		for _, owner := range owners {
			parent, err := w.Get(w.t.Context(), owner.Kind, name(owner))
			require.NoError(w.t, err)
			version, kind := owner.Kind.ToAPIVersionAndKind()
			references = append(references, metav1.OwnerReference{APIVersion: version, Kind: kind, Name: owner.Name, UID: parent.GetUID(), Controller: &controls})
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": references}})
		require.NoError(w.t, err)
		_, err = w.Patch(w.t.Context(), child.Kind, name(child), types.MergePatchType, data, metav1.PatchOptions{})
		require.NoError(w.t, err)
	}
}
