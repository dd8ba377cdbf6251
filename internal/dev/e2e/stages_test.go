package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var stageKind = schema.GroupVersionKind{Group: "kwok.x-k8s.io", Version: "v1alpha1", Kind: "Stage"}

// stageOf is a Stage that brings the Pods of a namespace from one phase into another.
func stageOf(name, namespace, from, to string, delay time.Duration) string {
	return fmt.Sprintf(`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: %s},
  spec: {resourceRef: {kind: Pod}, selector: {matchExpressions: [{jq: {key: .status.phase, operator: In, values: [%s]}},
		{cel: {expression: "self.metadata.namespace == '%s'"}}]}, delay: {durationMilliseconds: %d}, steps: [{patch: {root: status, subresource: status, template: "phase: %s"}}]}}`,
		name, from, namespace, delay.Milliseconds(), to)
}

// replaceSpec writes the spec of a manifest into the Stage of the same name.
func replaceSpec(t *testing.T, cluster *kube.Cluster, manifest string) {
	t.Helper()
	next := decode(t, manifest)[0]
	obj, err := cluster.Get(t.Context(), stageKind, types.NamespacedName{Name: next.GetName()})
	require.NoError(t, err)
	obj.Object["spec"] = next.Object["spec"]
	for { // its status is written meanwhile
		if _, err = cluster.Update(t.Context(), obj, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			break
		}
		now, err := cluster.Get(t.Context(), stageKind, types.NamespacedName{Name: next.GetName()})
		require.NoError(t, err)
		obj.SetResourceVersion(now.GetResourceVersion())
	}
	require.NoError(t, err)
}

// accepted prints the condition of a Stage.
func accepted(t *testing.T, cluster *kube.Cluster, name string) string {
	t.Helper()
	obj, err := cluster.Get(t.Context(), stageKind, types.NamespacedName{Name: name})
	require.NoError(t, err)
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, v := range conditions {
		if c := v.(map[string]any); c["type"] == stages.Accepted {
			return fmt.Sprintf("%v @%v %v", c["status"], c["observedGeneration"], c["message"])
		}
	}
	return ""
}

// TestStagesOfTheCluster creates, breaks, repairs and deletes Stages on the real server while a Pod
// waits for their effects.
func TestStagesOfTheCluster(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: stages}}")
	create(t, cluster, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: stages}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- stages.Play(ctx, cluster, player.Options{Namespace: "stages"}, stages.Options{}) }()
	defer func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}()
	install(t, cluster) // the test does not wait for it

	is := func(want string) func() bool { return func() bool { return phase(t, cluster, "stages", "a") == want } }
	const delay = 5 * time.Second
	began := time.Now()
	create(t, cluster, stageOf("run", "stages", "Pending", "Running", delay))
	eventually(t, "the Stage is accepted", func() bool { return accepted(t, cluster, "run") == "True @1 " })
	replaceSpec(t, cluster, strings.ReplaceAll(stageOf("run", "stages", "Pending", "Running", delay), "self.metadata.namespace", "slf.x"))
	eventually(t, "the fault is told", func() bool {
		return accepted(t, cluster, "run") == "False @2 spec.selector.matchExpressions[1].cel.expression:1:1: undeclared reference to 'slf'; generation 1 stays in use"
	})
	create(t, cluster, stageOf("fail", "stages", "Running", "Failed", time.Hour))
	require.Equal(t, "Pending", phase(t, cluster, "stages", "a"))
	eventually(t, "the last good version is played", is("Running"))
	require.Less(t, time.Since(began), delay+4*time.Second, "the delay began with the first version; discovery takes two seconds")

	replaceSpec(t, cluster, stageOf("run", "stages", "Nothing", "Running", 0))
	eventually(t, "it is repaired", func() bool { return accepted(t, cluster, "run") == "True @3 " })
	require.NoError(t, cluster.Delete(t.Context(), stageKind, types.NamespacedName{Name: "fail"}, metav1.DeleteOptions{}))
	create(t, cluster, stageOf("end", "stages", "Running", "Succeeded", 0))
	eventually(t, "a Stage that comes later is played at once", is("Succeeded"))
}

// TestDefinitionOfStages checks that the server accepts the Stages of the presets, and refuses
// Stages that violate its schema.
func TestDefinitionOfStages(t *testing.T) {
	cluster := newCluster(t)
	install(t, cluster)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	for _, s := range []stage.Source{presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeHeartbeatWithLease(), presets.NodeChaos(), presets.PodFast(), presets.PodGeneral(), presets.PodChaos(), presets.Volumes()} {
		for _, st := range s.Stages() {
			text, err := yaml.Marshal(st)
			require.NoError(t, err)
			obj := decode(t, string(text))[0]
			unstructured.RemoveNestedField(obj.Object, "status")
			_, err = cluster.Create(t.Context(), obj, dry)
			require.NoError(t, err, st.Name)
		}
	}
	for name, c := range map[string]struct{ spec, fault string }{
		"kind":     {"{resourceRef: {}}", "spec.resourceRef.kind: Required"},
		"operator": {"{resourceRef: {kind: Pod}, selector: {matchExpressions: [{key: .a, operator: Near}]}}", "operator: Unsupported value"},
		"weight":   {"{resourceRef: {kind: Pod}, weight: -1}", "spec.weight"},
		"type":     {"{resourceRef: {kind: Pod}, steps: [{patch: {type: apply, template: a}}]}", "spec.steps[0].patch.type"},
		"event":    {"{resourceRef: {kind: Pod}, next: {event: {type: Odd}}}", "spec.next.event.type"},
		"field":    {"{resourceRef: {kind: Pod}, wait: 1}", `unknown field "spec.wait"`},
	} {
		_, err := cluster.Create(t.Context(), decode(t, "{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: odd}, spec: "+c.spec+"}")[0], dry)
		require.ErrorContains(t, err, c.fault, name)
	}
}

// install makes the server serve Stages, if it does not yet.
func install(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	crd := decode(t, stages.Definition())[0]
	_, err := cluster.Create(t.Context(), crd, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
	eventually(t, "Stages are served", func() bool { return served(t, cluster, crd) })
}
