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
	notSeen       = NotSeen.Because("", "Not looked for yet")
	notFound      = kstatus.NotFound.Because("", "Resource not found")
	noNamespace   = forGood(kstatus.Unknown.Because("NoNamespace", "The kind has namespaces, and the reference has none"))
	notNamespaced = forGood(kstatus.Unknown.Because("NotNamespaced", "The kind has no namespaces, and the reference has one"))
)

func forGood(r kstatus.Result) kstatus.Result {
	r.Terminal = true
	return r
}
