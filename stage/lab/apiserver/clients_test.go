package apiserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestBadClientsDelayNobody holds that a watch that nobody reads, a request of which half was sent, and
// a client that breaks off leave everybody else in peace.
func TestBadClientsDelayNobody(t *testing.T) {
	for name, request := range map[string]string{
		"a watch that nobody reads": "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: a\r\n\r\n",
		"half of a body":            "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"half of a header":          "GET /api/v1/configmaps HTTP/1.1\r\nHost:",
		"a list that nobody reads":  "GET /api/v1/configmaps HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
				client := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
				conn, err := config.Dial(t.Context(), "tcp", "stagecraft.invalid:80")
				require.NoError(t, err)
				sent := make(chan error, 1)
				go func() { sent <- write(conn, request) }()
				synctest.Wait()

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				w, err := client.Watch(ctx, metav1.ListOptions{})
				require.NoError(t, err)
				for i := range 300 {
					_, err := client.Create(ctx, configMap(fmt.Sprint("a", i)), metav1.CreateOptions{})
					require.NoError(t, err)
					require.NotNil(t, (<-w.ResultChan()).Object)
				}
				w.Stop()
				require.NoError(t, conn.Close())
				<-sent
				_, err = client.List(ctx, metav1.ListOptions{})
				require.NoError(t, err)
			})
		})
	}
}

func write(to net.Conn, text string) error {
	_, err := io.WriteString(to, text)
	return err
}

// TestBodiesHaveALimit holds that a body beyond it is refused as by kube-apiserver, and not read to its
// end.
func TestBodiesHaveALimit(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})).CoreV1().RESTClient()
	body := append([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"`), bytes.Repeat([]byte("x"), 4<<20)...)
	err := client.Post().Namespace("default").Resource("configmaps").Body(append(body, `"}}`...)).Do(t.Context()).Error()
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
	require.ErrorContains(t, err, "limit is 3145728")
	require.Equal(t, http.StatusRequestEntityTooLarge, int(err.(apierrors.APIStatus).Status().Code)) //nolint:errorlint // it is one
}
