package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestBare holds that a bare server has what kube-apiserver creates itself, and nothing of
// kube-controller-manager.
func TestBare(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{Bare: true})).CoreV1()
	_, err := c.Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = c.ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
}

// TestObjectsWithoutFieldsHaveNoManagedFields holds that they have none, and no empty list either.
func TestObjectsWithoutFieldsHaveNoManagedFields(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})).CoreV1()
	_, err := c.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	text, err := c.RESTClient().Get().Namespace("default").Resource("configmaps").Name("empty").SetHeader("Accept", "application/json").DoRaw(t.Context())
	require.NoError(t, err)
	require.NotContains(t, string(text), "managedFields")
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a, namespace: default}}
`

// TestOptionsOfDeletionsOfAVersion holds that DeleteOptions may be those of the version of a custom
// kind, and of no other one.
func TestOptionsOfDeletionsOfAVersion(t *testing.T) {
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(gadgets)))
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{})).CoreV1().RESTClient()
	send := func(version string) error {
		body := `{"apiVersion":"` + version + `","kind":"DeleteOptions","propagationPolicy":"Background"}`
		return c.Delete().AbsPath("/apis/example.com/v1/namespaces/default/gadgets").Body([]byte(body)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
	}
	require.True(t, apierrors.IsBadRequest(send("example.com/v2")))
	require.NoError(t, send("example.com/v1"))
	list, err := cluster.List(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}
