package oracle

import (
	"bytes"
	"io"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
)

// withREST is a fake clientset whose RESTClient is not nil: controllers that
// build an event sink of it (nodelifecycle) would crash otherwise.
type withREST struct{ *fake.Clientset }

var _ kubernetes.Interface = withREST{}

func (w withREST) CoreV1() corev1.CoreV1Interface { return coreREST{w.Clientset.CoreV1()} }

type coreREST struct{ corev1.CoreV1Interface }

func (coreREST) RESTClient() rest.Interface {
	return &restfake.RESTClient{
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		Client: restfake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body) // an Event: give it back
			return &http.Response{StatusCode: 201, Header: http.Header{"Content-Type": {r.Header.Get("Content-Type")}}, Body: io.NopCloser(bytes.NewReader(b))}, err
		}),
	}
}
