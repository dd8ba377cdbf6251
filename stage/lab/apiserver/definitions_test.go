package apiserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const ovens = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ovens.x.io}, spec: {group: x.io, scope: Namespaced,
  names: {plural: ovens, kind: Oven}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
  spec: {type: object, required: [degrees], properties: {degrees: {type: integer, maximum: 300}, mode: {type: string, default: bake}},
    x-kubernetes-validations: [{rule: "self.degrees >= oldSelf.degrees", message: it does not cool}]}, status: {type: object, properties: {warm: {type: boolean}}}}}}}]}}`

var (
	definitionKind = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	ovenKind       = schema.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "ovens"}
)

func fields(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

func oven(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return fields(t, `{apiVersion: x.io/v1, kind: Oven, metadata: {name: `+name+`}, spec: `+spec+`}`)
}

func withOvens(t *testing.T) (dynamic.Interface, dynamic.ResourceInterface) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	_, err := client.Resource(definitionKind).Create(t.Context(), fields(t, ovens), metav1.CreateOptions{})
	require.NoError(t, err)
	return client, client.Resource(ovenKind).Namespace("default")
}

// TestCustomObjectsFollowTheirSchema holds that objects are pruned, filled in, validated by schema and
// rules, and that rules see the object before.
func TestCustomObjectsFollowTheirSchema(t *testing.T) {
	_, ovens := withOvens(t)
	u, err := ovens.Create(t.Context(), oven(t, "a", `{degrees: 200, colour: red}`), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"degrees": int64(200), "mode": "bake"}, u.Object["spec"])

	_, err = ovens.Create(t.Context(), oven(t, "b", `{degrees: 200, colour: red}`), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.ErrorContains(t, err, `Oven in version "v1" cannot be handled as a Oven: strict decoding error: unknown field "spec.colour"`)
	_, err = ovens.Create(t.Context(), oven(t, "b", `{degrees: 301}`), metav1.CreateOptions{})
	require.ErrorContains(t, err, `Oven.x.io "b" is invalid: spec.degrees: Invalid value: 301: spec.degrees in body should be less than or equal to 300`)

	patch := func(text string, subresources ...string) error {
		_, err := ovens.Patch(t.Context(), "a", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		return err
	}
	require.ErrorContains(t, patch(`{"spec":{"degrees":100}}`), "it does not cool")
	require.NoError(t, patch(`{"spec":{"degrees":250}}`))
	require.ErrorContains(t, patch(`{"status":{"warm":"yes"}}`, "status"), `status.warm: Invalid value: "string"`)
	require.NoError(t, patch(`{"status":{"warm":true}}`, "status"))
}

// TestDefaultsOfALaterSchemaAreRead holds that an object has the defaults of the definition as it is
// when it is read.
func TestDefaultsOfALaterSchemaAreRead(t *testing.T) {
	client, stored := withOvens(t)
	_, err := stored.Create(t.Context(), oven(t, "a", `{degrees: 200}`), metav1.CreateOptions{})
	require.NoError(t, err)
	later := strings.Replace(ovens, "mode: {type: string, default: bake}", "mode: {type: string}, door: {type: string, default: closed}", 1)
	crd, err := client.Resource(definitionKind).Get(t.Context(), "ovens.x.io", metav1.GetOptions{})
	require.NoError(t, err)
	crd.Object["spec"] = fields(t, later).Object["spec"]
	_, err = client.Resource(definitionKind).Update(t.Context(), crd, metav1.UpdateOptions{})
	require.NoError(t, err)

	u, err := stored.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"degrees": int64(200), "mode": "bake", "door": "closed"}, u.Object["spec"])
	list, err := stored.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, u.Object["spec"], list.Items[0].Object["spec"])
}

// TestUnsoundDefinitionsAreRefused holds that definitions are validated, all faults at once.
func TestUnsoundDefinitionsAreRefused(t *testing.T) {
	client := dynamic.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	bad := strings.NewReplacer("self.degrees >= oldSelf.degrees", "self.degree > 0", "scope: Namespaced", "scope: Some").Replace(ovens)
	_, err := client.Resource(definitionKind).Create(t.Context(), fields(t, bad), metav1.CreateOptions{})
	require.ErrorContains(t, err, "undefined field 'degree'")
	require.ErrorContains(t, err, `spec.scope: Unsupported value: "Some"`)
	var status interface{ Status() metav1.Status }
	require.ErrorAs(t, err, &status)
	require.EqualValues(t, http.StatusUnprocessableEntity, status.Status().Code)
}

// TestFaultsOfMetadataAndSchema checks that faults of the metadata of a custom object and those of its
// schema are causes of one error, in this order. kube-apiserver names a wrong label twice when an
// object is changed: for all kinds and for custom ones.
func TestFaultsOfMetadataAndSchema(t *testing.T) {
	_, ovens := withOvens(t)
	wrong := oven(t, "a", `{degrees: 301}`)
	wrong.SetLabels(map[string]string{">h": "x"})
	causes := func(err error) (list []string) {
		var status apierrors.APIStatus
		require.ErrorAs(t, err, &status)
		require.Equal(t, metav1.StatusReasonInvalid, status.Status().Reason)
		for _, c := range status.Status().Details.Causes {
			list = append(list, c.Field)
		}
		return list
	}
	_, err := ovens.Create(t.Context(), wrong, metav1.CreateOptions{})
	require.Equal(t, []string{"metadata.labels", "spec.degrees"}, causes(err))
	stored, err := ovens.Create(t.Context(), oven(t, "a", `{degrees: 200}`), metav1.CreateOptions{})
	require.NoError(t, err)
	wrong.SetResourceVersion(stored.GetResourceVersion())
	_, err = ovens.Update(t.Context(), wrong, metav1.UpdateOptions{})
	require.Equal(t, []string{"metadata.labels", "metadata.labels", "spec.degrees"}, causes(err))
	wrong.SetLabels(nil)
	_, err = ovens.Update(t.Context(), wrong, metav1.UpdateOptions{})
	require.Equal(t, []string{"spec.degrees"}, causes(err))
}
