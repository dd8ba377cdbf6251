// Package lws_test hunts LeaderWorkerSet, sigs.k8s.io/lws, at versions that have known bugs.
package lws_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"
	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/utils"
	"sigs.k8s.io/lws/pkg/utils/statefulset"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	sets         = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}
	statefulSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	pods         = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// set is a group of a leader and a worker that take 20 s to end. All that the definition and the webhook
// default is written out.
const set = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: a}
spec:
  replicas: 1
  startupPolicy: LeaderCreated
  networkConfig: {subdomainPolicy: Shared}
  rolloutStrategy: {type: RollingUpdate, rollingUpdateConfiguration: {maxUnavailable: 1, maxSurge: 0, partition: 0}}
  leaderWorkerTemplate:
    size: 2
    restartPolicy: RecreateGroupOnPodRestart
    workerTemplate: {spec: {terminationGracePeriodSeconds: 20, containers: [{name: c, image: one, command: [sleep, "1000d"]}]}}
`

// options: the status of a set is not right for ever after a lag of Pods, which the reconciler of sets
// counts and does not watch.
func options(runs int) hunt.Options {
	return hunt.Options{
		Runs: runs, Lab: labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: sets, Status: true}}},
		Known: []string{"the same end (LeaderWorkerSet)", "a restart changes nothing (LeaderWorkerSet/status)"},
	}
}

// scenario has users apply a set and delete a Pod.
func scenario(pod string) func(*hunt.Run) {
	scheme := newScheme()
	return func(r *hunt.Run) {
		r.Cluster().Extend(memory.Hooks{Name: "webhook of LeaderWorkerSet", Default: label})
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme}, setup)
		})
		r.Apply(set)
		r.At(10*time.Minute, "delete "+pod, func(u *hunt.User) error { return u.Delete(pods, pod) })
		r.Always("a group is made again once for each deletion", oncePerDeletion())
		r.Eventually("a group starts together", startedTogether)
	}
}

func newScheme() *runtime.Scheme {
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(leaderworkerset.AddToScheme(scheme))
	return scheme
}

// label is what the operator's webhook for Pods does for groups without subgroups and accelerators:
// that of these versions does not compile with the version of controller-runtime that is used here.
func label(v *memory.Review) error {
	labels, _, err := unstructured.NestedStringMap(v.New.Object, "metadata", "labels")
	if v.Kind != pods || v.Old != nil || err != nil || labels[leaderworkerset.SetNameLabelKey] == "" {
		return err
	}
	_, ordinal := statefulset.GetParentNameAndOrdinal(v.New.GetName())
	if labels[leaderworkerset.WorkerIndexLabelKey] == "0" {
		labels[leaderworkerset.GroupIndexLabelKey] = fmt.Sprint(ordinal)
		labels[leaderworkerset.GroupUniqueHashLabelKey] = utils.Sha1Hash(v.New.GetNamespace() + "/" + v.New.GetName())
	} else {
		labels[leaderworkerset.WorkerIndexLabelKey] = fmt.Sprint(ordinal)
	}
	v.New.SetLabels(labels)
	return nil
}

// oncePerDeletion counts the leaders of the set that is there: the group is made again once for each
// deletion of a Pod or StatefulSet by users.
func oncePerDeletion() func(*hunt.View) error {
	var set types.UID
	seen, before := map[types.UID]bool{}, 0
	return func(v *hunt.View) error {
		s, of, leader := v.Get(sets, "default/a"), v.Get(statefulSets, "default/a"), v.Get(pods, "default/a-0")
		deleted := v.Deleted(pods) + v.Deleted(statefulSets)
		if s == nil || s.GetUID() != set {
			seen, before = map[types.UID]bool{}, deleted
		}
		if s != nil {
			set = s.GetUID()
		}
		if s != nil && of != nil && leader != nil && metav1.IsControlledBy(of, s) && metav1.IsControlledBy(leader, of) {
			seen[leader.GetUID()] = true
		}
		if len(seen) > 1+deleted-before {
			return fmt.Errorf("%d leaders after %d deletions", len(seen), deleted-before)
		}
		return nil
	}
}

// startedTogether is what RecreateGroupOnPodRestart promises: no worker is much younger than its leader.
func startedTogether(v *hunt.View) error {
	leader, worker := v.Get(pods, "default/a-0"), v.Get(pods, "default/a-0-1")
	if leader == nil || worker == nil {
		return nil
	}
	if age := worker.GetCreationTimestamp().Sub(leader.GetCreationTimestamp().Time); age > time.Minute {
		return fmt.Errorf("the worker is %s younger than its leader", age)
	}
	return nil
}

// TestIssue804: the leader is deleted, its old workers take their time to end, and each of them has the
// new leader deleted. https://github.com/kubernetes-sigs/lws/issues/804, mended in v0.9.0.
func TestIssue804(t *testing.T) {
	report, err := hunt.Search(options(100), scenario("default/a-0"))
	require.NoError(t, err)
	look(t, report, has804, "always")
}

// TestIssue998: a worker is deleted and made anew while the operator does not look, so that it sees one
// change of a Pod and no deletion. https://github.com/kubernetes-sigs/lws/issues/998
func TestIssue998(t *testing.T) {
	report, err := hunt.Search(options(400), scenario("default/a-0-1"))
	require.NoError(t, err)
	look(t, report, has998, "eventually")
}

// look wants a finding of a check, or none.
func look(t *testing.T, report *hunt.Report, found bool, check string) {
	t.Log(report)
	for _, f := range report.Failures {
		t.Logf("run %d\n%s", f.Run, f)
	}
	if !found {
		require.Empty(t, report.Failures)
		return
	}
	require.True(t, slices.ContainsFunc(report.Failures, func(f hunt.Failure) bool { return f.Check == check }))
}
