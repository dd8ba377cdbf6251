package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
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
