package staged_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// The kinds on the hub.
var (
	stagedPolicyKind  = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	bindingPolicyKind = control.GroupVersion.WithKind("BindingPolicy")
)

func newHubCluster() *memory.Cluster {
	return memory.New(memory.Options{Kinds: []memory.Kind{
		{GroupVersionKind: bindingPolicyKind, Resource: "bindingpolicies", ClusterScoped: true},
		{GroupVersionKind: control.GroupVersion.WithKind("Binding"), ClusterScoped: true},
		{GroupVersionKind: control.GroupVersion.WithKind("CombinedStatus"), Resource: "combinedstatuses"},
	}})
}

// The same traces, with the objects on a hub and a Player at work, come to the same end.
func TestTracesWithPlayer(t *testing.T) {
	for _, tr := range loadTraces(t) {
		t.Run(tr.Name, func(t *testing.T) {
			want := scenarios[tr.Name]
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, endOf(want.log, tr), playedTrace(t, tr, want))
			})
		})
	}
}

// endOf is what exists at the end of a log, which is the active stage, and what the conditions say.
func endOf(log string, tr trace) (end []string) {
	if strings.HasPrefix(log, "refused") {
		return []string{"active ", "stalled Invalid"}
	}
	exist := slices.Clone(tr.ExistingBindingPolicies)
	active := tr.StagedBindingPolicy.Status.ActiveStage
	for _, line := range strings.Split(log, "; ") {
		verb, name, _ := strings.Cut(line, " ")
		switch verb {
		case "create":
			exist = append(exist, name)
		case "delete":
			exist = slices.DeleteFunc(exist, func(have string) bool { return have == name })
		case "active":
			active = name
		case "stalled", "succeeded":
			end = append(end, line)
		}
	}
	if slices.Contains(tr.UpstreamTrace, "> delete") {
		return nil
	}
	slices.Sort(exist)
	return slices.Concat(exist, []string{"active " + active}, end)
}

// A played trace has its objects on a hub.
type played struct {
	*replay
	cluster *memory.Cluster
}

func playedTrace(t *testing.T, tr trace, s scenario) []string {
	p := &played{replay: &replay{t: t, values: s.values, workload: s.workload()}, cluster: newHubCluster()}
	require.NoError(t, p.cluster.Load(t.Context(), []byte(v1alpha1.CRD())))
	tr.StagedBindingPolicy.Spec.Downsync[0].APIGroup = nil
	tr.StagedBindingPolicy.UID, tr.StagedBindingPolicy.ResourceVersion = "", ""
	p.create(&tr.StagedBindingPolicy, stagedPolicyKind.GroupVersion().String(), stagedPolicyKind.Kind)
	sbp := p.get()
	if active := tr.StagedBindingPolicy.Status.ActiveStage; active != "" {
		p.patch(`{"status": {"activeStage": "`+active+`"}}`, "status")
	}
	for _, name := range tr.ExistingBindingPolicies {
		p.create(&control.BindingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: sbp.GetAPIVersion(), Kind: v1alpha1.Kind, Name: "s", UID: sbp.GetUID(),
		}}}}, control.Group+"/"+control.Version, "BindingPolicy")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- player.Play(ctx, p.cluster, player.Options{}) }()
	for _, line := range tr.UpstreamTrace {
		if event, ok := strings.CutPrefix(line, "> "); ok {
			p.rest()
			p.happen(strings.Fields(event))
		}
	}
	p.rest()
	stop()
	<-done
	return p.end()
}

func (p *played) rest() {
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

func (p *played) create(obj any, apiVersion, kind string) {
	raw, err := json.Marshal(obj)
	require.NoError(p.t, err)
	u := &unstructured.Unstructured{}
	require.NoError(p.t, json.Unmarshal(raw, &u.Object))
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetCreationTimestamp(metav1.Time{})
	if old, err := p.cluster.Get(p.t.Context(), u.GroupVersionKind(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}); err == nil {
		u.SetResourceVersion(old.GetResourceVersion())
		u.SetUID(old.GetUID())
		_, err = p.cluster.Update(p.t.Context(), u, metav1.UpdateOptions{})
		require.NoError(p.t, err)
		return
	}
	_, err = p.cluster.Create(p.t.Context(), u, metav1.CreateOptions{})
	require.NoError(p.t, err)
}

func (p *played) get() *unstructured.Unstructured {
	obj, err := p.cluster.Get(p.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"})
	require.NoError(p.t, err)
	return obj
}

func (p *played) patch(patch string, subresources ...string) {
	_, err := p.cluster.Patch(p.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	require.NoError(p.t, err)
}

// happen lets an event of a trace happen on the hub, if what it is about is there.
func (p *played) happen(words []string) {
	switch words[0] {
	case "user":
		stages := p.get().Object["spec"].(map[string]any)["stages"].([]any)
		stages[0].(map[string]any)["clusterSelectors"] = []any{map[string]any{"matchLabels": map[string]any{"env": "dev2"}}}
		raw, err := json.Marshal(map[string]any{"spec": map[string]any{"stages": stages}})
		require.NoError(p.t, err)
		p.patch(string(raw))
	case "delete":
		require.NoError(p.t, p.cluster.Delete(p.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, metav1.DeleteOptions{}))
	case "Binding", "CombinedStatus":
		policy, err := p.cluster.Get(p.t.Context(), bindingPolicyKind, types.NamespacedName{Name: words[2]})
		if apierrors.IsNotFound(err) {
			return
		}
		require.NoError(p.t, err)
		if words[0] == "Binding" {
			p.bind(policy)
		} else {
			p.show(policy, words[3])
		}
	}
}

func (p *played) bind(policy *unstructured.Unstructured) {
	b := &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: policy.GetName(), OwnerReferences: []metav1.OwnerReference{{
		APIVersion: policy.GetAPIVersion(), Kind: policy.GetKind(), Name: policy.GetName(), UID: policy.GetUID(),
	}}}}
	b.Spec.Workload, b.Spec.Destinations = p.workload, []control.Destination{{ClusterID: "c1"}}
	p.create(b, control.Group+"/"+control.Version, "Binding")
}

func (p *played) show(policy *unstructured.Unstructured, object string) {
	status := p.combined(policy.GetName(), object, p.next())
	if len(status.Labels) == 0 || strings.Contains(object, ":") {
		return // KubeStellar makes none
	}
	status.Name = strings.Replace(status.Name, "uid-"+policy.GetName(), string(policy.GetUID()), 1)
	status.Namespace = cmp.Or(status.Labels[control.StatusLabelPrefix+"namespace"], control.ReportNamespace)
	p.create(status, control.Group+"/"+control.Version, "CombinedStatus")
}

func (p *played) end() (end []string) {
	list, err := p.cluster.List(p.t.Context(), bindingPolicyKind, "", metav1.ListOptions{})
	require.NoError(p.t, err)
	for _, item := range list.Items {
		end = append(end, item.GetName())
	}
	obj, err := p.cluster.Get(p.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"})
	if apierrors.IsNotFound(err) {
		return end
	}
	require.NoError(p.t, err)
	var sbp v1alpha1.StagedBindingPolicy
	require.NoError(p.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &sbp))
	end = append(end, "active "+sbp.Status.ActiveStage)
	for _, c := range sbp.Status.Conditions {
		switch {
		case c.Status != metav1.ConditionTrue:
		case c.Type == "Stalled":
			end = append(end, "stalled "+c.Reason)
		case c.Type == "Succeeded":
			end = append(end, "succeeded")
		}
	}
	return end
}
