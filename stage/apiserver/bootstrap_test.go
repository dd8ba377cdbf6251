package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/apiserver"
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
