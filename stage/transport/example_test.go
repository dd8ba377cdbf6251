package transport_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A logging cluster prints the objects that are created and deleted. It embeds the other requests.
type logging struct{ transport.Transport }

func (l logging) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	fmt.Println("create", obj.GetKind(), obj.GetName())
	return l.Transport.Create(ctx, obj, o)
}

func (l logging) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	fmt.Println("delete", kind.Kind, name.Name)
	return l.Transport.Delete(ctx, kind, name, o)
}

// A wrapper changes some requests of a cluster and leaves the others to it.
func ExampleTransport() {
	var cluster transport.Transport = logging{memory.New(memory.Options{})}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	name := types.NamespacedName{Namespace: "default", Name: "settings"}

	settings := &unstructured.Unstructured{}
	settings.SetGroupVersionKind(kind)
	settings.SetNamespace(name.Namespace)
	settings.SetName(name.Name)

	ctx := context.Background()
	if _, err := cluster.Create(ctx, settings, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
	}
	if err := cluster.Delete(ctx, kind, name, metav1.DeleteOptions{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// create ConfigMap settings
	// delete ConfigMap settings
}
