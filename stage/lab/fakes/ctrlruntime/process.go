package ctrlruntime

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/internal/server"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

// Client returns the client of a process of a hunt, like a manager's GetClient. It reads what the
// process has seen, and faults affect its writes. A kind that was read is watched from then on, as
// in the cache of a manager. It must not be used from several goroutines at once.
func Client(p *hunt.Process, o Options) client.WithWatch {
	return &conn{cached: true, server: server.Server{Cluster: p, Scheme: cmp.Or(o.Scheme, clientgoscheme.Scheme)}, indexes: o.Indexes}
}

// APIReader returns a reader of the current cluster, like a manager's GetAPIReader. After a crash
// of the process, it answers with errors.
func APIReader(p *hunt.Process, o Options) client.Reader {
	return &conn{server: server.Server{Cluster: exact{p}, Scheme: cmp.Or(o.Scheme, clientgoscheme.Scheme)}, indexes: o.Indexes}
}

// exact reads past the views of a process.
type exact struct{ *hunt.Process }

func (e exact) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return e.Live().Get(ctx, kind, name)
}

func (e exact) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return e.Live().List(ctx, kind, namespace, o)
}
