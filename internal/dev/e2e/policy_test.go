package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// TestPolicyDefinition installs the CustomResourceDefinition of StagedBindingPolicy as it is
// embedded. If it becomes established, the server accepts its schema and the cost of its rules.
func TestPolicyDefinition(t *testing.T) {
	cluster := newCluster(t)
	define(t, cluster, v1alpha1.CRD())
	for i, c := range policies {
		t.Run(c.name, func(t *testing.T) {
			name := c.object
			if name == "" {
				name = fmt.Sprintf("policy-%d", i)
			}
			text := policyText(name, c.spec)
			_, refused := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", []byte(text)))
			_, err := cluster.Create(t.Context(), decode(t, text)[0], metav1.CreateOptions{})
			if c.fault == "" {
				require.NoError(t, err)
				require.NoError(t, refused, "the library refuses what the server accepts")
				return
			}
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			require.ErrorContains(t, err, c.fault)
			require.Equal(t, !c.lenient, refused != nil, "whether the library refuses it: %v", refused)
		})
	}
}

func policyText(name, spec string) string {
	return "{apiVersion: community.kubestellar.io/v1alpha1, kind: StagedBindingPolicy, metadata: {name: " + name + "}, spec: " + spec + "}"
}

// policies are accepted or refused by the server; fault is a part of its message.
var policies = []struct {
	name, object, spec, fault string
	lenient                   bool // the library accepts a policy that the server refuses
}{
	{name: "the smallest", spec: "{stages: [{name: a}]}"},
	{name: "of the document", spec: `{downsync: [{apiGroup: apps, resources: [deployments], objectSelectors: [{matchLabels: {app: nginx}}], statusCollectors: [agg]}],
		stages: [{name: dev, clusterSelectors: [{matchLabels: {env: dev}}], filter: "downsyncClause.resource == 'deployments'", condition: "true"}, {name: prod, clusterSelectors: [{matchExpressions: [{key: env, operator: In, values: [prod]}]}]}]}`},
	{name: "with every gate", spec: `{retention: Keep, onChange: Restart, stages: [{name: a, condition: "true", soak: 10m30s, approval: {before: true, after: true},
		windows: [{cron: "0 9 * * 1-5", duration: 8h, timeZone: Europe/Berlin}, {cron: "0 0 24 12 *", duration: 48h, deny: true}], progressDeadlineSeconds: 600, failureCondition: "false", onFailure: Rollback,
		maxSilent: 1, maxConcurrency: 25%, paused: false, skipIfEmpty: true, guards: {minDestinations: 0, allowEmpty: true, allowStale: true, allowErrors: true}}, {name: b}]}`},
	{name: "with the budgets of clusters", spec: `{updates: Staged, paused: true, stages: [{name: a, condition: "true", perCluster: {maxUnavailable: 25%, progressDeadlineSeconds: 600, minSuccessTime: 5m},
		maxFailures: 10%, stageDeadlineSeconds: 7200, windows: [{cron: "0 9 * * *", duration: 8h}], batchesInWindows: true, approval: {before: true, timeoutSeconds: 86400}, onFailure: Continue, failureCondition: "false"},
		{name: b, condition: "true", maxConcurrency: 1, batchSoak: 1m, soak: 30m, onFailure: Pause}]}`},
	{name: "rollbacks", spec: `{updates: AtOnce, stages: [{name: a, condition: "true", onFailure: RollbackAll}, {name: b, condition: "true", maxConcurrency: 1, onFailure: RollbackBatch}]}`},
	{name: "a rollback of an update", spec: "{updates: Staged, stages: [{name: a, condition: 'true'}, {name: b, condition: 'true', onFailure: Rollback}]}"},
	{name: "a rollback of all stages of an update", spec: "{updates: Staged, stages: [{name: a, condition: 'true', onFailure: RollbackAll}]}"},
	{name: "a rollback of a batch of an update", spec: "{updates: Staged, stages: [{name: a, condition: 'true', maxConcurrency: 1, onFailure: RollbackBatch}]}"},
	{name: "unknown updates", spec: "{updates: Later, stages: [{name: a}]}", fault: "spec.updates"},
	{name: "batches of single clusters", spec: "{stages: [{name: a, condition: 'true', maxConcurrency: 1, perCluster: {}}]}", fault: "perCluster"},
	{name: "set aside in no perCluster", spec: "{stages: [{name: a, condition: 'true', maxFailures: 1}]}", fault: "maxFailures needs perCluster"},
	{name: "the batch before of none", spec: "{stages: [{name: a, condition: 'true', onFailure: RollbackBatch}]}", fault: "RollbackBatch needs maxConcurrency"},
	{name: "no unavailable cluster at a time", spec: "{stages: [{name: a, condition: 'true', perCluster: {maxUnavailable: 0}}]}", fault: "maxUnavailable"},
	{name: "an approval of no seconds", spec: "{stages: [{name: a, approval: {before: true, timeoutSeconds: 0}}]}", fault: "timeoutSeconds"},
	{name: "null expressions", spec: "{stages: [{name: a, filter: null, condition: null}]}"},
	{name: "no spec", spec: "null", fault: "spec"},
	{name: "no stages", spec: "{}", fault: "spec.stages: Required value"},
	{name: "empty stages", spec: "{stages: []}", fault: "spec.stages"},
	{name: "two stages of a name", spec: "{stages: [{name: a}, {name: a}]}", fault: "Duplicate value"},
	{name: "a stage without a name", spec: "{stages: [{condition: 'true'}]}", fault: "name: Required value"},
	{name: "an upper-case name", spec: "{stages: [{name: Dev}]}", fault: "spec.stages[0].name"},
	{name: "a name of two stages", spec: "{stages: [{name: a.stage.b}]}", fault: `must not contain ".stage."`},
	{name: "a policy named like a stage", object: "x.stage.y", spec: "{stages: [{name: a}]}", fault: `must not contain ".stage."`},
	{name: "a label that is too long", object: strings.Repeat("p", 40), spec: "{stages: [{name: " + strings.Repeat("s", 17) + "}]}", fault: "at most 63 characters"},
	{name: "a label that just fits", object: strings.Repeat("p", 40), spec: "{stages: [{name: " + strings.Repeat("s", 16) + "}]}"},
	{name: "an unknown retention", spec: "{retention: Drop, stages: [{name: a}]}", fault: "spec.retention"},
	{name: "an unknown reaction to failure", spec: "{stages: [{name: a, onFailure: Panic}]}", fault: "onFailure"},
	{name: "a soak that is no duration", spec: "{stages: [{name: a, soak: a while}]}", fault: "soak"},
	{name: "a window without a duration", spec: "{stages: [{name: a, windows: [{cron: '0 9 * * *'}]}]}", fault: "duration: Required value"},
	{name: "a deadline of no seconds", spec: "{stages: [{name: a, progressDeadlineSeconds: 0}]}", fault: "progressDeadlineSeconds"},
	{name: "more than all clusters may fail", spec: "{stages: [{name: a, maxFailures: 101%}]}", fault: "maxFailures"},
	{name: "no cluster at a time", spec: "{stages: [{name: a, maxConcurrency: 0}]}", fault: "maxConcurrency"},
	{name: "an unknown operator", spec: "{stages: [{name: a, clusterSelectors: [{matchExpressions: [{key: env, operator: Near}]}]}]}", fault: "operator"},
	{name: "a clause that selects nothing", spec: "{downsync: [{createOnly: true}], stages: [{name: a}]}", fault: "spec.downsync[0]", lenient: true},
	{name: "a condition that is no text", spec: "{stages: [{name: a, condition: 1}]}", fault: "condition"},
}

// TestPolicyStatus checks that the status is a subresource, and that the statuses that the library
// writes fit the schema.
func TestPolicyStatus(t *testing.T) {
	cluster := newCluster(t)
	define(t, cluster, strings.ReplaceAll(v1alpha1.CRD(), "community.kubestellar.io", "status.kubestellar.io"))
	kind := schema.GroupVersionKind{Group: "status.kubestellar.io", Version: "v1alpha1", Kind: "StagedBindingPolicy"}
	create(t, cluster, strings.ReplaceAll(policyText("p", "{stages: [{name: a}]}"), "community.kubestellar.io", "status.kubestellar.io"))
	patch := func(body string, sub ...string) error {
		_, err := cluster.Patch(t.Context(), kind, types.NamespacedName{Name: "p"}, types.MergePatchType, []byte(body), metav1.PatchOptions{}, sub...)
		return err
	}
	require.NoError(t, patch(`{"status": {"activeStage": "a"}}`))
	got, err := cluster.Get(t.Context(), kind, types.NamespacedName{Name: "p"})
	require.NoError(t, err)
	require.Nil(t, got.Object["status"])
	require.NoError(t, patch(`{"status": {"observedGeneration": 1, "activeStage": "a", "stages": [{"name": "a", "phase": "Progressing", "startedAt": "2026-01-02T03:04:05Z"}],
		"workload": "w", "firstVersion": 1, "version": 2, "bindingPolicies": [{"name": "p.stage.a", "stage": "a", "version": 2, "clusters": ["c"], "removing": true}],
		"conditions": [{"type": "Succeeded", "status": "False", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "Progressing", "message": ""}]}}`, "status"))
	require.True(t, apierrors.IsInvalid(patch(`{"status": {"stages": [{"name": "a", "phase": "Lost"}]}}`, "status")))
}
