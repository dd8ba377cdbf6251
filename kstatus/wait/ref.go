package wait

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Ref names an object, whether it is there or not.
type Ref struct {
	Kind      schema.GroupVersionKind
	Namespace string // "" for kinds that have none
	Name      string
}

// RefOf names an object that is there.
func RefOf(obj *unstructured.Unstructured) Ref {
	return Ref{Kind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// String is the reference as in `Deployment.apps shop/web`.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind.GroupKind().String() + " " + r.Name
	}
	return r.Kind.GroupKind().String() + " " + r.Namespace + "/" + r.Name
}

// NotSeen is the status of an object that was not looked for yet, be it there or not. No rule returns it.
const NotSeen kstatus.Status = "NotSeen"

var (
	notSeen     = NotSeen.Because("NotSeen", "Not looked for yet")
	noNamespace = kstatus.Unknown.Because("NoNamespace", "The kind has namespaces, and the reference has none")
	notFound    = kstatus.NotFound.Because("", "Resource not found")
)
