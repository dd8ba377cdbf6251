package player_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var (
	hubAlone  = port{"KubeStellar K0", (*fleet).overHubAlone}
	withSpace = port{"KubeStellar K1", (*fleet).overKubeStellar}
	overWorks = port{"ManifestWork", (*fleet).overManifestWorks}
)

// scenario plays a test over KubeStellar with one or both views of it.
func scenario(t *testing.T, policy string, do func(t *testing.T, f *fleet), over ...port) {
	for _, p := range over {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { do(t, newFleet(t, p, policy)) })
		})
	}
}

func atOnce(stages ...string) string {
	return `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  retention: Keep
  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]
  stages:
  - ` + strings.Join(stages, "\n  - ") + "\n"
}

func stageOf(name, selectors, more string) string {
	return fmt.Sprintf("{name: %s, clusterSelectors: [%s], condition: num('sum') == size(destinations)%s}", name, selectors, more)
}

const (
	devs  = "{matchLabels: {env: dev}}"
	prods = "{matchLabels: {env: prod}}"
)

func (f *fleet) patchPolicy(fields map[string]any) { f.patchOf("s", fields) }

func (f *fleet) patchOf(policy string, fields map[string]any) {
	f.t.Helper()
	raw, err := json.Marshal(fields)
	require.NoError(f.t, err)
	_, err = f.hub.Patch(f.t.Context(), stagedPolicyKind, types.NamespacedName{Name: policy}, types.MergePatchType, raw, metav1.PatchOptions{})
	require.NoError(f.t, err)
}

func (f *fleet) annotate(key, value string) {
	f.patchPolicy(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// edit replaces the stages.
func (f *fleet) edit(policy string) {
	obj := new(unstructured.Unstructured)
	require.NoError(f.t, yamlInto(policy, obj))
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
	f.patchPolicy(map[string]any{"spec": spec})
}

func (f *fleet) record(stage string) v1alpha1.StageStatus {
	for _, s := range f.status().Stages {
		if s.Name == stage {
			return s
		}
	}
	return v1alpha1.StageStatus{}
}

// A5, F3: a revision that comes in the middle of a soak begins its own.
func TestARevisionInMidSoakBeginsItsOwn(t *testing.T) {
	policy := atOnce(stageOf("dev", devs, ", soak: 30m"), stageOf("prod", prods, ""))
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(29 * 60)
			require.Equal(t, v1alpha1.Soaking, f.phase("dev"), f.message())
			f.push("2")
			f.run(5 * 60)
			require.Empty(t, f.have["prod1"], "the soak of version 1 is not that of 2")
			f.run(24*60 + 30)
			require.Empty(t, f.have["prod1"])
			f.run(60)
			require.Equal(t, "2", f.have["prod1"], f.message())
			require.False(t, f.holds("Verified"), "AtOnce asks for no evidence")
		})
	}, hubAlone, withSpace)
}

// A6, F4: pausing and resuming re-arms nothing.
func TestPausingAfterAFailureChangesNothing(t *testing.T) {
	policy := atOnce(stageOf("dev", devs, ""), stageOf("prod", prods, ", onFailure: Rollback, progressDeadlineSeconds: 60"))
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.bad["prod1@1"] = true
		f.push("1")
		f.play(func() {
			f.run(100)
			require.Equal(t, v1alpha1.Failed, f.phase("prod"), f.message())
			require.Contains(t, f.message(), "withdrawFirst", "it is not known that prod had nothing before")
			f.patchPolicy(map[string]any{"spec": map[string]any{"paused": true}})
			f.run(10)
			f.patchPolicy(map[string]any{"spec": map[string]any{"paused": false}})
			delete(f.bad, "prod1@1")
			f.run(100)
			require.Equal(t, v1alpha1.Failed, f.phase("prod"), f.message())
			require.EqualValues(t, 1, f.record("prod").Attempt)
			f.annotate(v1alpha1.RetryPrefix+"prod", f.status().Revisions[0].Name)
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
			require.EqualValues(t, 2, f.record("prod").Attempt)
		})
	}, hubAlone)
}

// A7, F5: a cluster that an edit moves to a later stage, which waits for approval, keeps what it has;
// and so it does when the names of stages are swapped. run checks that at every instant.
func TestClustersThatMoveKeepWhatTheyHave(t *testing.T) {
	before := atOnce(stageOf("canary", devs+", {matchLabels: {name: prod1}}", ""), stageOf("prod", prods, ", approval: {before: true}"))
	after := atOnce(stageOf("canary", devs, ""), stageOf("prod", prods, ", approval: {before: true}"))
	scenario(t, before, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			require.Equal(t, "1", f.have["prod1"])
			require.Empty(t, f.have["prod2"])
			f.edit(after)
			f.run(30)
			require.Equal(t, "1", f.have["prod1"], f.message())
			f.annotate(v1alpha1.ApprovalPrefix+"before.prod", f.record("prod").Awaiting.Ticket+" jane")
			f.run(30)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			obj, err := f.hub.Get(t.Context(), bindingPolicyKind, types.NamespacedName{Name: "s.stage.canary"})
			require.NoError(t, err)
			selectors, _, _ := unstructured.NestedSlice(obj.Object, "spec", "clusterSelectors")
			require.Len(t, selectors, 1, "prod holds it now, so canary has let it go")
		})
	}, hubAlone, withSpace)
	scenario(t, atOnce(stageOf("a", devs, ""), stageOf("b", prods, "")), func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
			f.edit(atOnce(stageOf("b", devs, ""), stageOf("a", prods, "")))
			f.run(40)
			require.Equal(t, versions("1", "1"), f.have)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, hubAlone, withSpace)
}

// A8, F6: time in which no Player looked fails nothing and ends no soak.
func TestDowntimeCountsForNothing(t *testing.T) {
	policy := atOnce(stageOf("dev", devs, ", progressDeadlineSeconds: 30"), stageOf("prod", prods, ", soak: 60s"))
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.bad["dev1@1"] = true
		f.push("1")
		f.play(func() { f.run(5) })
		time.Sleep(10 * time.Minute)
		f.play(func() {
			f.run(10)
			require.Equal(t, v1alpha1.Progressing, f.phase("dev"), f.message())
			delete(f.bad, "dev1@1")
			f.run(20)
			require.Equal(t, v1alpha1.Soaking, f.phase("prod"), f.message())
		})
		time.Sleep(time.Hour)
		f.play(func() {
			f.run(1)
			require.Equal(t, v1alpha1.Soaking, f.phase("prod"), f.message())
			f.run(70)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, hubAlone, withSpace)
}

// A9, F7: a cluster that joins a stage that was skipped is served, and until then nothing has
// succeeded.
func TestAClusterJoinsASkippedStage(t *testing.T) {
	policy := atOnce(stageOf("canary", "{matchLabels: {env: canary}}", ", skipIfEmpty: true"), stageOf("prod", prods, ""))
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
			require.NotEmpty(t, f.record("canary").FulfilledWith)
			next := map[string]map[string]string{"can1": {"env": "canary", "name": "can1"}, "prod1": f.clusters["prod1"], "prod2": f.clusters["prod2"]}
			f.known.Store(&next)
			synctest.Wait()
			f.clusters = next
			f.run(60)
			require.Equal(t, "1", f.have["can1"], f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, hubAlone, withSpace)
}

// join adds a cluster of an environment.
func (f *fleet) join(name, env string) {
	next := maps.Clone(f.clusters)
	next[name] = map[string]string{"env": env, "name": name}
	f.known.Store(&next)
	synctest.Wait()
	f.clusters = next
	if f.joined != nil {
		f.joined(name)
	}
}

// leave takes a cluster out of the inventory, with its namespace.
func (f *fleet) leave(name string) {
	next := maps.Clone(f.clusters)
	delete(next, name)
	f.known.Store(&next)
	for _, work := range f.list(manifestwork.Kind) {
		if work.GetNamespace() == name {
			require.NoError(f.t, f.hub.Delete(f.t.Context(), manifestwork.Kind, types.NamespacedName{Namespace: name, Name: work.GetName()}, metav1.DeleteOptions{}))
		}
	}
	synctest.Wait()
	f.clusters = next
}

// A cluster that joins a passed stage in the middle of another revision gets the revision of that stage,
// where it can be placed. Where the source does not hold that any more, it waits by name.
func TestAClusterJoinsAPassedStage(t *testing.T) {
	eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			f.bad["dev1@2"] = true
			f.push("2")
			f.run(20)
			f.join("prod3", "prod")
			f.run(20)
			if f.old {
				require.Equal(t, "1", f.have["prod3"], f.message())
				require.False(t, f.holds("CannotDeliver"))
			} else {
				require.Empty(t, f.have["prod3"])
				require.True(t, f.holds("CannotDeliver"))
				require.Contains(t, f.message(), "prod3 (r1-")
			}
			require.False(t, f.holds("Succeeded"))
			delete(f.bad, "dev1@2")
			f.run(40)
			require.Equal(t, map[string]string{"dev1": "2", "prod1": "2", "prod2": "2", "prod3": "2"}, f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			require.False(t, f.holds("CannotDeliver"))
		})
	})
}

// A snapshot that is lost cannot be gone back to: the clusters are held, and the message says which
// revision the source must hold again.
func TestARollbackWithoutItsSnapshot(t *testing.T) {
	scenario(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
		})
		f.bad["prod1@2"] = true
		f.push("2")
		f.play(func() {
			f.run(20)
			require.Equal(t, versions("2", "2"), f.have, f.message())
		})
		require.NoError(t, f.options.Snapshots.Prune(t.Context(), "s", nil)) // no ManifestWork has it either
		f.play(func() {
			f.run(100)
			require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), f.message())
			require.Contains(t, f.message(), "until the source holds r1-")
			require.Equal(t, versions("2", "2"), f.have)
			f.push("1")
			f.run(60)
			require.Equal(t, versions("1", "1"), f.have, f.message())
		})
	}, overWorks)
}

// A10, F8: an approval is for what its ticket names, and for nothing else.
func TestAnApprovalNamesWhatItIsFor(t *testing.T) {
	scenario(t, strings.Replace(portPolicy, "condition: num('sum') == size(destinations), progress", "approval: {before: true}, condition: num('sum') == size(destinations), progress", 1), func(t *testing.T, f *fleet) {
		f.push("1")
		var old string
		f.play(func() {
			f.run(20)
			old = f.record("prod").Awaiting.Ticket
			require.Contains(t, f.message(), old)
			require.True(t, strings.HasPrefix(old, "r1-"))
		})
		f.annotate(v1alpha1.ApprovalPrefix+"before.prod", old+" jane") // the Player is down
		f.push("2")
		f.play(func() {
			f.run(40)
			require.Empty(t, f.have["prod1"], f.message())
			require.Contains(t, f.message(), "has the ticket "+old+", which is not this one")
			f.annotate(v1alpha1.ApprovalPrefix+"before.prod", "jane")
			f.run(20)
			require.Empty(t, f.have["prod1"], "a name alone approves nothing where evidence is asked for")
			f.annotate(v1alpha1.ApprovalPrefix+"before.prod", f.record("prod").Awaiting.Ticket+" jane")
			f.run(20)
			require.Equal(t, versions("2", "2"), f.have, f.message())
			require.Equal(t, "jane", f.record("prod").ApprovedBefore)
		})
	}, withSpace)
}

// A11, F9: a policy that was deleted with --cascade=orphan and created again takes over what is there.
func TestAPolicyThatIsCreatedAgainTakesOver(t *testing.T) {
	policy := atOnce(stageOf("dev", devs, ""), stageOf("prod", prods, ""))
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
			orphan := metav1.DeletePropagationOrphan
			require.NoError(t, f.hub.Delete(t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, metav1.DeleteOptions{PropagationPolicy: &orphan}))
			f.run(5)
			require.NoError(t, f.hub.Load(t.Context(), []byte(policy)))
			f.run(30)
			require.True(t, f.holds("Succeeded"), f.message())
			require.NotContains(t, f.message(), "remove it")
			require.Equal(t, versions("1", "1"), f.have)
			obj, err := f.hub.Get(t.Context(), bindingPolicyKind, types.NamespacedName{Name: "s.stage.prod"})
			require.NoError(t, err)
			require.Len(t, obj.GetOwnerReferences(), 1, "it is owned again")
		})
	}, hubAlone, withSpace)
}

// A12, F10: a second policy for the same workload. The first goes on; the newcomer places nothing, and
// names the other.
func TestTwoPoliciesForOneWorkload(t *testing.T) {
	one := atOnce(stageOf("dev", devs, ""), stageOf("prod", prods, ""))
	two := strings.Replace(atOnce(stageOf("all", prods, "")), "{name: s}", "{name: z}", 1)
	scenario(t, one, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
			require.NoError(t, f.hub.Load(t.Context(), []byte(two)))
			f.run(30)
			obj, err := f.hub.Get(t.Context(), stagedPolicyKind, types.NamespacedName{Name: "z"})
			require.NoError(t, err)
			conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
			require.Contains(t, fmt.Sprint(conditions[0]), "BindingPolicy s.stage.prod places the same objects in prod1, prod2")
			require.Contains(t, fmt.Sprint(conditions), "reason:Conflict")
			_, err = f.hub.Get(t.Context(), bindingPolicyKind, types.NamespacedName{Name: "z.stage.all"})
			require.True(t, apierrors.IsNotFound(err), "the newcomer places nothing")
			require.True(t, f.holds("Succeeded"), f.message())
			require.Contains(t, f.message(), "StagedBindingPolicy z places the same objects", "the first goes on, with a warning")
			f.push("2")
			f.run(20)
			require.Equal(t, versions("2", "2"), f.have)
			f.deletePolicy(metav1.DeletePropagationBackground) // the first goes: the newcomer has its turn
			f.mayLose = true
			f.run(30)
			_, err = f.hub.Get(t.Context(), bindingPolicyKind, types.NamespacedName{Name: "z.stage.all"})
			require.NoError(t, err)
		})
	}, hubAlone, withSpace)
}

// An urgent revision skips soaks and windows, and nothing else: stages still wait for the ones before, for
// healthy clusters and for approvals.
func TestAnUrgentRevision(t *testing.T) {
	policy := strings.ReplaceAll(portPolicy, "destinations)", "destinations), soak: 30m, windows: [{cron: '0 0 1 1 *', duration: 1m}]")
	policy = strings.Replace(policy, "progressDeadlineSeconds", "approval: {before: true}, progressDeadlineSeconds", 1)
	eachPort(t, policy, func(t *testing.T, f *fleet) {
		var events []string
		f.options.Events = f.eventsNamed("Expedited", func(message string) { events = append(events, message) })
		f.push("1")
		time.Sleep(time.Hour) // the clock of the bubble begins within the window
		f.play(func() {
			f.run(20)
			require.Empty(t, f.have, f.message())
			require.Contains(t, f.message(), "waits for a window")
			f.bad["dev1@1"] = true
			f.annotate(v1alpha1.ExpediteAnnotation, "r9-000000000000 jane")
			f.run(5)
			require.Empty(t, events, "that is another revision")
			f.annotate(v1alpha1.ExpediteAnnotation, f.status().Revisions[0].Name+" jane, incident 7")
			f.run(20)
			require.Equal(t, map[string]string{"dev1": "1"}, f.have, f.message())
			delete(f.bad, "dev1@1")
			f.run(10)
			require.Equal(t, map[string]string{"dev1": "1"}, f.have, "the approval is not skipped: %s", f.message())
			f.annotate(v1alpha1.ApprovalPrefix+"before.prod", f.record("prod").Awaiting.Ticket+" jane")
			f.run(30)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			require.Len(t, events, 1)
			require.Contains(t, events[0], "skips soaks and windows, as jane, incident 7 says")
			for _, a := range f.status().History {
				require.Equal(t, "jane, incident 7", a.ExpeditedBy)
			}
			f.push("2")
			f.run(20)
			require.Equal(t, versions("1", "1"), f.have, "another revision is not urgent: %s", f.message())
		})
	})
}

// A14: what KubeStellar says of a Binding is in the message, and nothing passes meanwhile.
func TestErrorsOfABindingAreToldAndBlock(t *testing.T) {
	scenario(t, atOnce(stageOf("dev", devs, ""), stageOf("prod", prods, "")), func(t *testing.T, f *fleet) {
		f.errors = []any{"template expansion failed"}
		f.push("1")
		f.play(func() {
			f.run(20)
			require.Contains(t, f.message(), "template expansion failed")
			require.Empty(t, f.have["prod1"])
			f.errors = []any{}
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, hubAlone, withSpace)
}

// A16: objects that are applied one after another are one revision.
func TestObjectsAppliedOneByOneAreOneRevision(t *testing.T) {
	scenario(t, strings.Replace(portPolicy, "settle: 2s", "settle: 5s", 1), func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			for i := range 5 {
				f.push(fmt.Sprint("2", i))
				f.run(1)
			}
			f.run(60)
			require.Equal(t, versions("24", "24"), f.have, f.message())
			require.Len(t, f.status().Revisions, 2)
		})
	}, withSpace)
}

// A10: with approvals: Objects only StageApprovals count; one that rejects fails the stage. A gate is an
// object of the hub that is true and of this revision.
func TestStageApprovalsAndGates(t *testing.T) {
	policy := strings.Replace(portPolicy, "updates: Staged", "updates: Staged\n  approvals: Objects", 1)
	policy = strings.Replace(policy, "condition: num('sum') == size(destinations)}", "condition: num('sum') == size(destinations), approval: {after: true}, gates: [{name: job, apiVersion: batch/v1, kind: Job, namespace: shop, objectName: check, condition: object.status.succeeded == 1}]}", 1)
	job := func(version, revision string) map[string]any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"namespace": "shop", "name": "check", "annotations": map[string]any{v1alpha1.RevisionAnnotation: revision}},
			"spec": map[string]any{"x": version}, "status": map[string]any{"succeeded": int64(1)}}
	}
	scenario(t, policy, func(t *testing.T, f *fleet) {
		require.NoError(t, f.hub.Load(t.Context(), []byte(v1alpha1.ApprovalCRD())))
		f.options.Approvals, f.options.Gates = f.hub, []schema.GroupVersionKind{jobKind}
		answer := func(decision string) {
			ticket := f.record("dev").Awaiting.Ticket
			f.put(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.ApprovalKind, "metadata": map[string]any{"name": "a" + ticket[len(ticket)-8:]},
				"spec": map[string]any{"policy": "s", "stage": "dev", "gate": "after", "ticket": ticket, "decision": decision, "by": "jane", "reason": "it smells"}})
		}
		f.put(job("old", "r0-0"))
		f.push("1")
		f.play(func() {
			f.run(20)
			f.annotate(v1alpha1.ApprovalPrefix+"after.dev", f.record("dev").Awaiting.Ticket+" editor")
			f.run(5)
			require.Contains(t, f.message(), "waits for a StageApproval", "an editor cannot approve")
			answer("Approve")
			f.run(5)
			require.Contains(t, f.message(), "does not name the revision", "last week's Job opens nothing")
			require.NoError(t, f.hub.Delete(t.Context(), jobKind, types.NamespacedName{Namespace: "shop", Name: "check"}, metav1.DeleteOptions{}))
			f.run(2)
			require.Contains(t, f.message(), "which does not exist")
			f.put(job("new", f.status().Revisions[0].Name))
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
			f.push("2")
			f.run(20)
			answer("Reject")
			f.run(5)
			require.Equal(t, v1alpha1.Failed, f.phase("dev"), f.message())
			require.Contains(t, f.message(), "rejected by jane: it smells")
		})
	}, withSpace)
}
