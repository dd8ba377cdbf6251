package wait

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Ref names an object, whether it exists or not.
type Ref struct {
	Kind      schema.GroupVersionKind
	Namespace string // "" for kinds that have none
	Name      string
}

// RefOf returns the reference to an object.
func RefOf(obj *unstructured.Unstructured) Ref {
	return Ref{Kind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// String returns a text such as `Deployment.apps shop/web`.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind.GroupKind().String() + " " + r.Name
	}
	return r.Kind.GroupKind().String() + " " + r.Namespace + "/" + r.Name
}

// NotSeen is the status of an object that was not looked up yet. No rule returns it.
const NotSeen kstatus.Status = "NotSeen"

var (
	notSeen       = NotSeen.Because("", "Not looked for yet")
	notFound      = kstatus.NotFound.Because("", "Resource not found")
	noNamespace   = terminal(kstatus.Unknown.Because("NoNamespace", "The kind has namespaces, and the reference has none"))
	notNamespaced = terminal(kstatus.Unknown.Because("NotNamespaced", "The kind has no namespaces, and the reference has one"))
)

func terminal(r kstatus.Result) kstatus.Result {
	r.Terminal = true
	return r
}
