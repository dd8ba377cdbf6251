package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/defaults"
	"github.com/stagecraft-go/stagecraft/stage/lab/validation"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func newCluster() *memory.Cluster {
	c := memory.New(memory.Options{})
	c.Extend(defaults.Hooks())
	c.Extend(validation.Hooks())
	return c
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(data))
	obj.SetNamespace("default")
	return obj
}

// TestAllFaultsAreNamed checks that an object is refused with a cause for each fault.
func TestAllFaultsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"Pod": {`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Sometimes,
  containers: [{name: A, ports: [{containerPort: 70000}], volumeMounts: [{name: v, mountPath: /v}]}]}}`, []string{
			`spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of`, "spec.containers[0].image: Required value",
			"spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive", `spec.containers[0].volumeMounts[0].name: Not found: "v"`,
			`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`,
		}},
		"Deployment": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: -1, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: c}}, spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}`, []string{
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0", "`selector` does not match template `labels`", `spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
		}},
		"Service": {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}, {port: 0}]}}`, []string{
			"spec.ports[0].name: Required value", "spec.ports[1].port: Invalid value: 0",
		}},
		"keys": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {"a/b": x, c: y}, binaryData: {c: eA==}}`, []string{
			`data[c]: Invalid value: "c": duplicate of key present in binaryData`, `data[a/b]: Invalid value: "a/b"`}},
		"scopes of a quota": {`{apiVersion: v1, kind: ResourceQuota, metadata: {name: a},
  spec: {hard: {services: 1, pods: 1}, scopes: [Terminating, NotTerminating, None]}}`, []string{
			`spec.scopes: Invalid value: ["Terminating","NotTerminating","None"]: unsupported scope applied to resource`,
			`spec.scopes: Invalid value: ["Terminating","NotTerminating","None"]: unsupported scope applied to resource`,
			`spec.scopes: Invalid value: ["Terminating","NotTerminating","None"]: unsupported scope`,
			`spec.scopes: Invalid value: ["Terminating","NotTerminating","None"]: conflicting scopes`}},
		"selector of a quota": {`{apiVersion: v1, kind: ResourceQuota, metadata: {name: a},
  spec: {hard: {cpu: 1}, scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: In}]}}}`, []string{
			`spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"In","Values":null}]}: unsupported scope applied to resource`,
			"spec.scopeSelector.matchExpressions.operator: Invalid value: \"In\": must be 'Exists'", "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value"}},
		"Secret": {`{apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/tls, data: {tls.crt: eA==}}`, []string{`data[tls.key]: Required value`}},
		"login": {`{apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: eA==}}`, []string{
			`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>"`}},
		"LimitRange": {`{apiVersion: v1, kind: LimitRange, metadata: {name: a}, spec: {limits: [{type: Pod, default: {cpu: 1}}, {type: PersistentVolumeClaim},
  {type: Container, min: {cpu: 200m}, max: {cpu: 100m}, default: {cpu: 50m}, defaultRequest: {cpu: 75m}, maxLimitRequestRatio: {cpu: 500m}}]}}`, []string{
			"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
			"spec.limits[1].limits: Required value: either minimum or maximum storage value is required",
			`spec.limits[2].min[cpu]: Invalid value: "200m": min value 200m is greater than max value 100m`,
			`spec.limits[2].defaultRequest[cpu]: Invalid value: "75m": min value 200m is greater than default request value 75m`,
			`spec.limits[2].defaultRequest[cpu]: Invalid value: "75m": default request value 75m is greater than default limit value 50m`,
			`spec.limits[2].default[cpu]: Invalid value: "200m": min value 200m is greater than default value 50m`,
			`spec.limits[2].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`,
		}},
		"VolumeAttachment": {`{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a},
  spec: {attacher: a.b, nodeName: n, source: {inlineVolumeSpec: {capacity: {storage: 1}, hostPath: {path: /}}}}}`, []string{
			"spec.source.inlineVolumeSpec.accessModes: Required value", "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes",
			"spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
		}},
		"label": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: "not a label"}}}`, []string{`metadata.labels: Invalid value: "not a label"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newCluster().Create(t.Context(), object(t, c.text), metav1.CreateOptions{})
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// TestUpdatesAreRefused checks which changes are refused, and that unchanged fields are not
// checked.
func TestUpdatesAreRefused(t *testing.T) {
	c := newCluster()
	patch := func(obj *unstructured.Unstructured, body string) error {
		_, err := c.Patch(t.Context(), obj.GroupVersionKind(), types.NamespacedName{Namespace: "default", Name: obj.GetName()}, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	create := func(text string) *unstructured.Unstructured {
		obj, err := c.Create(t.Context(), object(t, text), metav1.CreateOptions{})
		require.NoError(t, err)
		return obj
	}
	const template = `template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: i}]}}`
	deployment := create(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, ` + template + `}}`)
	require.ErrorContains(t, patch(deployment, `{"spec": {"selector": {"matchLabels": {"a": "c"}}, "template": {"metadata": {"labels": {"a": "c"}}}}}`), "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable")
	require.ErrorContains(t, patch(deployment, `{"spec": {"replicas": -1}}`), "must be greater than or equal to 0")
	require.NoError(t, patch(deployment, `{"spec": {"replicas": 2}}`))
	set := create(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {serviceName: a, selector: {matchLabels: {a: b}}, ` + template + `}}`)
	require.ErrorContains(t, patch(set, `{"spec": {"serviceName": "b"}}`), "updates to statefulset spec for fields other than 'replicas'")
	require.NoError(t, patch(set, `{"spec": {"replicas": 2}, "metadata": {"labels": {"x": "z"}}}`))
	service := create(`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.96.7.1, clusterIPs: [10.96.7.1], ports: [{port: 80}]}}`)
	require.ErrorContains(t, patch(service, `{"spec": {"clusterIP": "10.96.7.2", "clusterIPs": ["10.96.7.2"]}}`), "spec.clusterIPs[0]: Invalid value: [\"10.96.7.2\"]: may not change once set")

	plain := memory.New(memory.Options{})
	wrong, err := plain.Create(t.Context(), object(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}`), metav1.CreateOptions{})
	require.NoError(t, err)
	plain.Extend(validation.Hooks())
	_, err = plain.Patch(t.Context(), wrong.GroupVersionKind(), types.NamespacedName{Namespace: "default", Name: "a"}, types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.com/a"]}}`), metav1.PatchOptions{})
	require.NoError(t, err, "its spec stays as it is")
}
