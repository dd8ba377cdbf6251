package apiserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const (
	colourPolicy = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: colours}, spec: {paramKind: {apiVersion: v1, kind: ConfigMap},
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [pods]}]},
  variables: [{name: colour, expression: "object == null ? oldObject.metadata.labels.colour : object.metadata.labels.colour"}],
  validations: [{expression: "variables.colour != params.data.never", messageExpression: "request.operation + ' of ' + string(variables.colour) + ' in ' + namespaceObject.metadata.name", reason: Forbidden}]}}`
	colourBinding = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: bound},
  spec: {policyName: colours, paramRef: {name: colours, namespace: default, parameterNotFoundAction: Allow}, validationActions: [Deny]}}`
)

// create stores an object without a client.
func create(t *testing.T, c *memory.Cluster, u *unstructured.Unstructured) error {
	t.Helper()
	_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
	return err
}

func paint(t *testing.T, name, colour string) *unstructured.Unstructured {
	t.Helper()
	return fields(t, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, namespace: default, labels: {colour: `+colour+`}}, spec: {containers: [{name: c, image: i}]}}`)
}

// TestPoliciesDecide holds that a policy is asked about what clients write and about what is written
// without one, that a change of it or of its parameters counts at once, and that a fork has its own.
func TestPoliciesDecide(t *testing.T) {
	cluster := memory.New(memory.Options{})
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{}))
	for _, text := range []string{colourPolicy, colourBinding} {
		require.NoError(t, create(t, cluster, fields(t, text)))
	}
	require.NoError(t, create(t, cluster, paint(t, "red", "red")), "there are no parameters")

	colour := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colours"}, Data: map[string]string{"never": "red"}}
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), colour, metav1.CreateOptions{})
	require.NoError(t, err)
	err = create(t, cluster, paint(t, "other", "red"))
	require.True(t, apierrors.IsForbidden(err))
	require.EqualError(t, err, `pods "other" is forbidden: ValidatingAdmissionPolicy 'colours' with binding 'bound' denied request: CREATE of red in default`)
	require.NoError(t, create(t, cluster, paint(t, "blue", "blue")))
	err = client.CoreV1().Pods("default").Delete(t.Context(), "red", metav1.DeleteOptions{})
	require.ErrorContains(t, err, `ValidatingAdmissionPolicy 'colours' with binding 'bound' denied request: DELETE of red in default`)

	fork := cluster.Fork()
	colour.Data["never"] = "blue"
	_, err = client.CoreV1().ConfigMaps("default").Update(t.Context(), colour, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, create(t, cluster, paint(t, "other", "red")))
	require.ErrorContains(t, create(t, cluster, paint(t, "more", "blue")), "CREATE of blue")
	require.ErrorContains(t, create(t, fork, paint(t, "other", "red")), "CREATE of red")
}

// TestPoliciesAboutSubresources holds that policies see and change the object of a subresource, and not what is
// stored.
func TestPoliciesAboutSubresources(t *testing.T) {
	cluster := memory.New(memory.Options{})
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{}))
	const rule = `matchConstraints: {resourceRules: [{apiGroups: ["", apps], apiVersions: [v1], operations: ["*"], resources: ["*/scale", pods/binding, pods/eviction]}]}`
	for _, text := range []string{
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: default}, spec: {replicas: 1, selector: {matchLabels: {a: b}},
		  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: least}, spec: {reinvocationPolicy: Never, ` + rule + `,
		  matchConditions: [{name: few, expression: "request.subResource == 'scale' && object.spec.replicas < 3"}],
		  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{spec: Object.spec{replicas: 3}}"}}]}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: least}, spec: {policyName: least}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: most}, spec: {` + rule + `,
		  validations: [{expression: "request.subResource == 'scale' && object.spec.replicas < 9", messageExpression: "object.kind + ' of ' + request.name"}]}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: most}, spec: {policyName: most, validationActions: [Deny]}}`,
	} {
		require.NoError(t, create(t, cluster, fields(t, text)))
	}
	require.NoError(t, create(t, cluster, paint(t, "p", "red")))
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	scaled, err := client.AppsV1().Deployments("default").UpdateScale(t.Context(), "d", scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, scaled.Spec.Replicas)
	scale.Spec.Replicas = 9
	_, err = client.AppsV1().Deployments("default").UpdateScale(t.Context(), "d", scale, metav1.UpdateOptions{})
	require.ErrorContains(t, err, "denied request: Scale of d")
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
	require.ErrorContains(t, client.PolicyV1().Evictions("default").Evict(t.Context(), eviction), "denied request: Eviction of p")
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	require.ErrorContains(t, client.CoreV1().Pods("default").Bind(t.Context(), binding, metav1.CreateOptions{}), "denied request: Binding of p")
}

// TestPoliciesAreCompiledOnce holds that a request that a policy is about costs no compilation, which
// takes milliseconds.
func TestPoliciesAreCompiledOnce(t *testing.T) {
	cluster := memory.New(memory.Options{})
	apiserver.Start(t, cluster, apiserver.Options{})
	for _, text := range []string{colourPolicy, colourBinding} {
		require.NoError(t, create(t, cluster, fields(t, text)))
	}
	require.NoError(t, create(t, cluster, fields(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: colours, namespace: default}, data: {never: red}}`)))
	pod, dryRun := paint(t, "first", "red"), metav1.CreateOptions{DryRun: []string{"All"}}
	ask := func() {
		_, err := cluster.Create(context.Background(), pod, dryRun)
		require.ErrorContains(t, err, "CREATE of red")
	}
	change := func() {
		policy := fields(t, colourPolicy)
		stored, err := cluster.Get(context.Background(), policy.GroupVersionKind(), types.NamespacedName{Name: policy.GetName()})
		require.NoError(t, err)
		policy.SetResourceVersion(stored.GetResourceVersion())
		policy.SetAnnotations(map[string]string{"at": time.Now().String()}) // no change of the spec
		_, err = cluster.Update(context.Background(), policy, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	ask()
	require.Less(t, testing.AllocsPerRun(20, ask), 2000.0, "a compilation allocates 8,000 times")
	change()
	require.Less(t, testing.AllocsPerRun(1, ask), 2000.0)
}

// TestPoliciesWarn holds that the action Warn is a header of the answer.
func TestPoliciesWarn(t *testing.T) {
	cluster := memory.New(memory.Options{})
	config := apiserver.Start(t, cluster, apiserver.Options{})
	warnings := &warned{}
	config.WarningHandler = warnings
	client := kubernetes.NewForConfigOrDie(config)
	require.NoError(t, create(t, cluster, fields(t, colourPolicy)))
	bound := fields(t, colourBinding)
	require.NoError(t, unstructured.SetNestedStringSlice(bound.Object, []string{"Warn"}, "spec", "validationActions"))
	require.NoError(t, create(t, cluster, bound))
	colour := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colours"}, Data: map[string]string{"never": "red"}}
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), colour, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "red", Labels: map[string]string{"colour": "red"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err = client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"Validation failed for ValidatingAdmissionPolicy 'colours' with binding 'bound': CREATE of red in default"}, warnings.texts)
}

type warned struct{ texts []string }

func (w *warned) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

// TestPoliciesAreValidated holds that the expressions of a policy have to compile.
func TestPoliciesAreValidated(t *testing.T) {
	cluster := memory.New(memory.Options{})
	apiserver.Start(t, cluster, apiserver.Options{})
	policy := fields(t, colourPolicy)
	require.NoError(t, unstructured.SetNestedSlice(policy.Object, []any{map[string]any{"expression": "object.metadata +"}}, "spec", "validations"))
	err := create(t, cluster, policy)
	require.True(t, apierrors.IsInvalid(err))
	require.ErrorContains(t, err, `spec.validations[0].expression: Invalid value: "object.metadata +": compilation failed: ERROR: <input>:1:18: Syntax error`)
}

const labelling = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: label}, spec: {reinvocationPolicy: Never,
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  variables: [{name: team, expression: "'kitchen'"}], mutations: [
  {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': variables.team}}}"}},
  {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/labels/size', value: 'big'}]"}}]}}`

// TestMutatingPoliciesChangeObjects holds that MutatingAdmissionPolicies change what is written by
// clients and without one, before it is stored, and that what is not valid is refused.
func TestMutatingPoliciesChangeObjects(t *testing.T) {
	cluster := memory.New(memory.Options{})
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{}))
	require.NoError(t, create(t, cluster, fields(t, labelling)))
	require.NoError(t, create(t, cluster, fields(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: before, namespace: default}}`)))
	binding := fields(t, `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: label}, spec: {policyName: label}}`)
	require.NoError(t, create(t, cluster, binding))
	require.NoError(t, create(t, cluster, fields(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: cluster, namespace: default, labels: {a: b}}}`)))
	made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "client"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"team": "kitchen", "size": "big"}, made.Labels)
	for name, want := range map[string]map[string]string{"before": nil, "cluster": {"a": "b", "team": "kitchen", "size": "big"}} {
		got, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got.Labels)
	}
	wrong := fields(t, strings.Replace(labelling, "variables.team", "variables.nobody", 1))
	wrong.SetName("wrong")
	require.ErrorContains(t, create(t, cluster, wrong), "spec.mutations[0].applyConfiguration.expression: Invalid value")
}

// TestPatternsThatObjectsMakeAreBounded checks each function that takes a pattern, in a validation, a
// variable, a condition and a mutation.
func TestPatternsThatObjectsMakeAreBounded(t *testing.T) {
	const large, fault = "((a{0,20}){0,20})+c", "states: the limit is 500; use smaller repetitions"
	validating := func(fields string) []string {
		return []string{
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [
				{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}, ` + fields + `}}`,
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}, spec: {policyName: p, validationActions: [Deny]}}`,
		}
	}
	mutating := []string{
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: p}, spec: {
			reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
			mutations: [{patchType: JSONPatch, jsonPatch: {expression: "object.data.l.matches(object.data.p) ? [JSONPatch{op: 'add', path: '/data/x', value: 'y'}] : []"}}]}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: p}, spec: {policyName: p}}`,
	}
	for name, policy := range map[string][]string{
		"matches":                  validating(`validations: [{expression: "object.data.l.matches(object.data.p)"}]`),
		"matches without receiver": validating(`validations: [{expression: "matches(object.data.l, object.data.p)"}]`),
		"put together":             validating(`validations: [{expression: "object.data.l.matches('^' + object.data.p + '$')"}]`),
		"find":                     validating(`validations: [{expression: "object.data.l.find(object.data.p) == 'a'"}]`),
		"findAll":                  validating(`validations: [{expression: "object.data.l.findAll(object.data.p).size() == 1"}]`),
		"findAll, limited":         validating(`validations: [{expression: "object.data.l.findAll(object.data.p, 1).size() == 1"}]`),
		"a variable":               validating(`variables: [{name: v, expression: "object.data.l.matches(object.data.p)"}], validations: [{expression: "variables.v"}]`),
		"a condition":              validating(`matchConditions: [{name: c, expression: "object.data.l.matches(object.data.p)"}], validations: [{expression: "true"}]`),
		"a mutation":               mutating,
	} {
		t.Run(name, func(t *testing.T) {
			cluster := memory.New(memory.Options{})
			apiserver.Start(t, cluster, apiserver.Options{})
			for _, text := range policy {
				require.NoError(t, create(t, cluster, fields(t, text)))
			}
			object := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {l: a, p: "`
			err := create(t, cluster, fields(t, object+large+`"}}`))
			require.ErrorContains(t, err, fault)
			require.NoError(t, create(t, cluster, fields(t, object+`a"}}`)))
		})
	}
}

// TestTypesOfPoliciesAreChecked checks that the status of a policy names the expressions that do not fit
// the types of its objects, built-in and custom.
func TestTypesOfPoliciesAreChecked(t *testing.T) {
	cluster := memory.New(memory.Options{})
	config := apiserver.Start(t, cluster, apiserver.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(cakes)))
	c := kubernetes.NewForConfigOrDie(config).AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy := &admissionregistration.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionregistration.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistration.MatchResources{ResourceRules: []admissionregistration.NamedRuleWithOperations{{RuleWithOperations: admissionregistration.RuleWithOperations{
			Operations: []admissionregistration.OperationType{admissionregistration.Create},
			Rule:       admissionregistration.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}}}}},
		Validations: []admissionregistration.Validation{{Expression: "object.spec.replicas < 5"}, {Expression: "object.spec.replicas == 'many'"}, {Expression: "object.spec.nothing == 1"}}}}
	_, err := c.Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	status := func(generation int64) (warnings []string) {
		require.Eventually(t, func() bool {
			policy, err = c.Get(t.Context(), "p", metav1.GetOptions{})
			require.NoError(t, err)
			return policy.Status.ObservedGeneration == generation
		}, time.Minute, time.Millisecond)
		require.NotNil(t, policy.Status.TypeChecking)
		for _, w := range policy.Status.TypeChecking.ExpressionWarnings {
			warnings = append(warnings, w.FieldRef+": "+w.Warning)
		}
		return warnings
	}
	found := status(1)
	require.Len(t, found, 2)
	require.Contains(t, found[0], "spec.validations[1].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_==_' applied to '(int, string)'")
	require.Contains(t, found[1], "spec.validations[2].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'nothing'")

	policy.Spec.MatchConstraints.ResourceRules[0].Rule = admissionregistration.Rule{APIGroups: []string{"x.io"}, APIVersions: []string{"v1"}, Resources: []string{"cakes"}}
	policy.Spec.Validations = []admissionregistration.Validation{{Expression: "object.metadata.name != 'a'"}, {Expression: "object.nothing == 1"}}
	_, err = c.Update(t.Context(), policy, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Len(t, status(2), 1)
	require.Contains(t, status(2)[0], "spec.validations[1].expression: x.io/v1, Kind=Cake: ERROR: <input>:1:7: undefined field 'nothing'")
}
