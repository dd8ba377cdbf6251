package player_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// conditionsOf prints the conditions of a policy.
func (f *fleet) conditionsOf(policy string) string {
	obj, err := f.hub.Get(f.t.Context(), stagedPolicyKind, nameOf(policy))
	require.NoError(f.t, err)
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	return fmt.Sprint(conditions)
}

// A12 over Open Cluster Management and Argo CD: a second policy for the same workload. The first goes on; the
// newcomer places nothing before the first is gone.
func TestTwoPoliciesOverWorksAndApplications(t *testing.T) {
	two := strings.Replace(atOnce(stageOf("all", prods, "")), "{name: s}", "{name: z}", 1)
	two = strings.Replace(two, "retention: Keep", "retention: Keep\n  updates: Staged\n  deletionPolicy: Delete", 1)
	scenario(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			require.NoError(t, f.hub.Load(t.Context(), []byte(two)))
			f.patchOf("z", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
				application.SourceAnnotation: fmt.Sprintf(`{"repoURL": "https://example.org/web.git", "path": "web", "targetRevision": "%040d"}`, 9)}}})
			f.run(30)
			require.Contains(t, f.conditionsOf("z"), "StagedBindingPolicy s places the same objects in prod1, prod2")
			require.Contains(t, f.conditionsOf("z"), "reason:Conflict")
			require.Equal(t, versions("1", "1"), f.have)
			require.True(t, f.holds("Succeeded"), f.message())
			require.Contains(t, f.message(), "StagedBindingPolicy z places the same objects", "the first goes on, with a warning")
			f.push("2")
			f.run(60)
			require.Equal(t, versions("2", "2"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			for _, work := range f.list(manifestwork.Kind) {
				require.Equal(t, "stagecraft-s", work.GetName())
			}
			f.patchPolicy(map[string]any{"spec": map[string]any{"deletionPolicy": "Delete"}})
			f.deletePolicy(metav1.DeletePropagationBackground)
			f.mayLose = true
			f.run(60)
			require.True(t, f.isGone())
			require.Contains(t, f.conditionsOf("z"), "succeeded in stage", "now it has its turn")
		})
	}, overWorks, overApps)
}

// What cannot be written for one cluster keeps no other cluster from its revision, and the message says what it is.
func TestAFaultyClusterHoldsUpNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		over port
		spec string // what is wrong with the Application of prod1; "": it does not exist
		want string
	}{
		"refused":         {refusedWorks("prod1"), "", "prod1 (no room for it)"},
		"refused source":  {refusedApps("prod1"), "", "prod1 (Application web-prod1: no room for it)"},
		"no Application":  {overApps, "", "prod1 (Application argocd/web-prod1 does not exist)"},
		"ApplicationSet":  {overApps, `{"metadata": {"ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "all", "uid": "1"}]}}`, "prod1 (Application web-prod1 belongs to ApplicationSet all, which would write the source back)"},
		"several sources": {overApps, `{"spec": {"sources": [{"repoURL": "https://example.org/web.git"}]}}`, "prod1 (Application web-prod1 has spec.sources, before which spec.source does not count: write one spec.source)"},
		"by hand":         {overApps, `{"status": {"sync": {"status": "OutOfSync"}}}`, "prod1 (Application web-prod1 is OutOfSync and has no spec.syncPolicy.automated: sync it, or write that)"},
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, portPolicy, func(t *testing.T, f *fleet) {
				key := types.NamespacedName{Namespace: "argocd", Name: "web-prod1"}
				switch {
				case strings.HasPrefix(name, "refused"):
				case c.spec == "":
					require.NoError(t, f.hub.Delete(t.Context(), application.Kind, key, metav1.DeleteOptions{}))
				default:
					f.offline["prod1"] = true
					_, err := f.hub.Patch(t.Context(), application.Kind, key, types.MergePatchType, []byte(c.spec), metav1.PatchOptions{})
					require.NoError(t, err)
				}
				f.push("1")
				f.play(func() {
					f.run(40)
					require.Equal(t, map[string]string{"dev1": "1", "prod2": "1"}, f.have, f.message())
					require.Contains(t, f.message(), c.want)
				})
			}, c.over)
		})
	}
}

var overApps = port{"Application", (*fleet).overApplications}

// A cluster whose order is refused, and for which its stage does not wait, keeps no later stage from the revision.
func TestARefusedOrderHoldsUpNoLaterStage(t *testing.T) {
	policy := strings.Replace(portPolicy, "condition: num('sum') == size(destinations)}", "condition: num('sum') >= 1, guards: {allowErrors: true}, maxSilent: 1}", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.join("dev2", "dev")
		f.push("1")
		f.play(func() {
			f.run(60)
			require.Equal(t, map[string]string{"dev1": "1", "prod1": "1", "prod2": "1"}, f.have, f.message())
			require.Contains(t, f.message(), "dev2", "it is named")
		})
	}, refusedWorks("dev2"), refusedApps("dev2"))
}

// refusedWorks is a port on which no ManifestWork of one cluster can be created.
func refusedWorks(cluster string) port {
	return port{"ManifestWork", func(f *fleet) {
		f.overManifestWorks()
		c, _ := collectorOf(f.t, "returned.status.availableReplicas")
		f.options.Transport = manifestwork.New(refusing{f.hub, cluster}, manifestwork.Options{Clusters: f.options.Clusters,
			Feedback: map[string]string{"availableReplicas": ".availableReplicas"}, Collectors: map[string]*kubestellar.Collector{"agg": c}})
	}}
}

// refusedApps is a port on which the Application of one cluster cannot be changed.
func refusedApps(cluster string) port {
	return port{"Application", func(f *fleet) {
		f.overApplications()
		c, _ := collectorOf(f.t, "returned.status.health == 'Healthy' ? 1 : 0")
		f.options.Transport = application.New(refusing{f.hub, cluster}, application.Options{Clusters: f.options.Clusters, Name: application.ByCluster("web"),
			Namespace: "argocd", Collectors: map[string]*kubestellar.Collector{"agg": c}})
	}}
}

// A refusing transport neither creates the ManifestWork of one cluster nor changes its Application.
type refusing struct {
	transport.Transport
	cluster string
}

var errNoRoom = errors.New("no room for it")

func (r refusing) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if obj.GetNamespace() == r.cluster {
		return nil, errNoRoom
	}
	return r.Transport.Create(ctx, obj, o)
}

func (r refusing) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, how types.PatchType, data []byte, o metav1.PatchOptions,
	subresource ...string) (*unstructured.Unstructured, error) {
	if name.Name == "web-"+r.cluster {
		return nil, errNoRoom
	}
	return r.Transport.Patch(ctx, kind, name, how, data, o, subresource...)
}

// A branch or a tag is no revision, and the message says so; what was wanted before goes on.
func TestABranchIsNoRevision(t *testing.T) {
	scenario(t, portPolicy, func(t *testing.T, f *fleet) {
		f.annotate(application.SourceAnnotation, `{"repoURL": "https://example.org/web.git", "targetRevision": "main"}`)
		f.play(func() {
			f.run(20)
			require.Empty(t, f.have)
			require.Contains(t, f.message(), `targetRevision: want a commit or a digest, got "main": a branch or a tag names another content tomorrow`)
			f.push("1")
			f.run(40)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			require.NotContains(t, f.message(), "targetRevision")
		})
	}, overApps)
}

// A cluster goes back before it has confirmed what it goes back from. It may have received that, so that it is not
// known to be back, and nothing has succeeded with the earlier revision, before it confirms that one again.
func TestAClusterThatGoesBackUnconfirmed(t *testing.T) {
	policy := strings.Replace(portPolicy, "progressDeadlineSeconds: 30", "perCluster: {maxUnavailable: 2}, failureCondition: num('sum') == 0", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.bad["prod2@2"], f.unsaid = true, map[string]bool{"prod1": true}
			f.push("2")
			for range 20 {
				if f.run(1); f.have["prod1"] == "2" {
					f.offline["prod1"] = true
				}
			}
			require.Equal(t, map[string]string{"dev1": "2", "prod1": "2", "prod2": "1"}, f.have, f.message())
			require.Equal(t, v1alpha1.RollingBack, f.phase("prod"), f.message())
			require.Contains(t, f.message(), "waits for prod1 to go back")
			f.push("1")
			f.run(30)
			require.Equal(t, "2", f.have["prod1"])
			require.False(t, f.holds("Succeeded"), f.message())
			f.offline["prod1"], f.unsaid = false, nil
			f.run(40)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, overWorks, overApps)
}

// Another revision came and went through an open wave while no Player looked. What clusters have reported since
// may be of that one.
func TestARevisionThatNobodySaw(t *testing.T) {
	scenario(t, strings.Replace(portPolicy, "progressDeadlineSeconds: 30, ", "", 1), func(t *testing.T, f *fleet) {
		f.lag, f.acted, f.counts = map[string]bool{}, map[string]string{}, map[string]int64{}
		f.push("0")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.offline["prod2"], f.bad["prod1@1"] = true, true
			f.push("1")
			f.run(40)
			require.Equal(t, map[string]string{"dev1": "1", "prod1": "1", "prod2": "0"}, f.have, f.message())
		})
		f.push("2")
		f.run(3)
		require.Equal(t, "2", f.have["prod1"])
		f.lag["prod1"] = true // its controllers have not acted on version 1 yet, and its status is that of 2
		f.push("1")
		f.run(1)
		require.Equal(t, "1", f.have["prod1"])
		f.offline["prod1"], f.offline["prod2"] = true, false
		f.play(func() {
			f.run(60)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.Equal(t, v1alpha1.Progressing, f.phase("prod"), f.message())
			require.Contains(t, f.message(), "no status of the bound workload from prod1")
			f.offline["prod1"], f.lag["prod1"] = false, false
			delete(f.bad, "prod1@1")
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, withSpace)
}

// A cluster of the active stage that exists no more does not keep passed stages from losing the workload, under
// retention Move.
func TestAClusterThatIsGoneKeepsNoPassedStage(t *testing.T) {
	policy := strings.Replace(portPolicy, "retention: Keep", "retention: Move", 1)
	policy = strings.Replace(policy, "progressDeadlineSeconds: 30, ", "perCluster: {maxUnavailable: 2}, ", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.mayLose, f.bad["prod1@1"], f.offline["prod2"] = true, true, true
		served := func() (clusters []string) {
			for _, work := range f.list(manifestwork.Kind) {
				clusters = append(clusters, work.GetNamespace())
			}
			return clusters
		}
		f.push("1")
		f.play(func() {
			f.run(40)
			require.Equal(t, []string{"dev1", "prod1", "prod2"}, served(), "prod2 has received nothing, so dev1 keeps what it has")
			f.leave("prod2")
			f.run(20)
			require.Equal(t, []string{"prod1"}, served(), f.message())
			delete(f.bad, "prod1@1")
			f.run(20)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, withSpace, overWorks)
}

// A cluster of two stages, under retention Move, still has what the first of them placed there, which is on its way out.
// That is no delivery by the second one, and other clusters lose nothing for it.
func TestWhatAPassedStagePlacedIsNoDelivery(t *testing.T) {
	both := "clusterSelectors: [" + devs + ", {matchLabels: {name: prod2}}]"
	policy := strings.Replace(portPolicy, "retention: Keep", "retention: Move", 1)
	policy = strings.Replace(policy, "clusterSelectors: ["+prods+"]", "clusterSelectors: [{matchLabels: {name: prod1}}]", 1) +
		"  - {name: end, " + both + ", condition: num('sum') == size(destinations)}\n"
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.mayLose, f.offline["prod1"], f.behind = true, true, map[string]bool{}
		f.push("1")
		f.play(func() {
			f.run(20)
			require.Equal(t, map[string]string{"dev1": "1"}, f.have, f.message())
			f.offline["prod1"], f.behind["dev1"] = false, true
			f.run(20)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.Equal(t, "end", f.status().ActiveStage)
			require.False(t, f.holds("Succeeded"), "dev1 has only what the stage dev placed there")
			require.Contains(t, f.message(), "from a BindingPolicy that is gone)")
			f.behind = nil
			f.run(20)
			require.Equal(t, map[string]string{"dev1": "1", "prod1": "", "prod2": "1"}, f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, withSpace)
}

// A16: a Player that starts while objects are applied waits for the last one, like a Player that has seen the first.
func TestAPlayerThatStartsWhileObjectsAreApplied(t *testing.T) {
	scenario(t, strings.Replace(portPolicy, "settle: 2s", "settle: 5s", 1), func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
		})
		f.push("20")
		f.play(func() {
			f.run(2)
			f.push("24")
			f.run(60)
			require.Equal(t, versions("24", "24"), f.have, f.message())
			require.Equal(t, []string{"1", "24"}, f.ever["dev1"])
			require.Len(t, f.status().Revisions, 2)
		})
	}, withSpace, overWorks)
}
