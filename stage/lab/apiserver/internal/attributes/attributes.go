package attributes

import (
	"context"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// A Request says what a write of the cluster does not tell of the request that it is a part of.
type Request struct {
	FieldManager string // as it was given, "" if it was not
	IsCollection bool   // the objects of a collection are deleted
	Subresource  string // that of the path: a write of an approval is one of the status
}

type requestKey struct{}

// WithRequest returns a context for the writes of a request.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the request that a write is a part of; one that is equal to the write if it is
// no part of any.
func requestOf(v *memory.Review) Request {
	if r, is := v.Context().Value(requestKey{}).(Request); is {
		return r
	}
	return Request{FieldManager: v.Manager, Subresource: v.Subresource}
}

// SubresourceOf returns the subresource in the path of a request.
func SubresourceOf(v *memory.Review) string { return requestOf(v).Subresource }

// Of describes a write. Its new object may be changed, the old one must not.
func Of(v *memory.Review) admission.Attributes {
	var now, before runtime.Object
	if v.New != nil {
		now = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(v.New.Object)}
	}
	if v.Old != nil {
		before = &unstructured.Unstructured{Object: v.Old.Object}
	}
	operation, options := operationOf(v)
	return admission.NewAttributesRecord(now, before, kindOf(v), namespaceOf(v), nameOf(v),
		v.Resource.WithVersion(v.Kind.Version), requestOf(v).Subresource, operation, options, v.DryRun, UserOf(v))
}

// kindOf returns the kind of the object of a request, which a subresource may have of its own.
func kindOf(v *memory.Review) schema.GroupVersionKind {
	if v.New != nil && v.New.GetKind() != v.Kind.Kind {
		return v.New.GroupVersionKind()
	}
	return v.Kind
}

// nameOf returns the name in a request, "" if the server has made it of generateName, or if objects
// of a collection are deleted.
func nameOf(v *memory.Review) string {
	switch {
	case requestOf(v).IsCollection:
		return ""
	case v.Old != nil:
		return v.Name.Name
	}
	prefix := v.New.GetGenerateName()
	if prefix != "" && strings.HasPrefix(v.Name.Name, prefix) && len(v.Name.Name) == len(prefix)+generated {
		return ""
	}
	return v.Name.Name
}

// generated is how many characters are appended to generateName.
const generated = 5

// namespaceOf returns the namespace of a write; that of a Namespace is itself.
func namespaceOf(v *memory.Review) string {
	if v.Kind == namespaceKind {
		return v.Name.Name
	}
	return v.Name.Namespace
}

// NamespaceOf returns the Namespace of a write; one with its own label only if there is none.
func NamespaceOf(v *memory.Review) *corev1.Namespace {
	name, n := namespaceOf(v), &corev1.Namespace{}
	if stored := v.Get(namespaceKind, types.NamespacedName{Name: name}); stored != nil && name != "" {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, n); err == nil {
			return n
		}
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
}

// UserOf returns who writes: the user of the request, of the cluster, or its administrator.
func UserOf(v *memory.Review) user.Info {
	if u, known := request.UserFrom(v.Context()); known {
		return u
	}
	if v.User != "" {
		return &user.DefaultInfo{Name: v.User, Groups: []string{user.AllAuthenticated}}
	}
	return &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
}

// operationOf returns the operation of a write and its options.
func operationOf(v *memory.Review) (admission.Operation, runtime.Object) {
	var dryRun []string
	if v.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	typeMeta := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind}
	}
	manager := requestOf(v).FieldManager
	switch { // a patch is an update there
	case v.New == nil:
		return admission.Delete, &metav1.DeleteOptions{TypeMeta: typeMeta("DeleteOptions"), DryRun: dryRun}
	case v.Old == nil:
		return admission.Create, &metav1.CreateOptions{TypeMeta: typeMeta("CreateOptions"), DryRun: dryRun, FieldManager: manager}
	}
	return admission.Update, &metav1.UpdateOptions{TypeMeta: typeMeta("UpdateOptions"), DryRun: dryRun, FieldManager: manager}
}

// MayMatch reports whether one of the rules may be about a write, in any version and scope. It is
// quick, so that writes that no rule is about cost little.
func MayMatch(rules []admissionregistration.RuleWithOperations, v *memory.Review) bool {
	operation, _ := operationOf(v)
	names := []string{v.Resource.Resource, "*", "*/*"}
	if sub := requestOf(v).Subresource; sub != "" {
		names = []string{v.Resource.Resource + "/" + sub, "*/" + sub, v.Resource.Resource + "/*", "*/*"}
	}
	return slices.ContainsFunc(rules, func(r admissionregistration.RuleWithOperations) bool {
		return slices.ContainsFunc(r.Operations, func(o admissionregistration.OperationType) bool {
			return o == admissionregistration.OperationAll || string(o) == string(operation)
		}) && containsAny(r.Resources, names) && containsAny(r.APIGroups, []string{v.Resource.Group, "*"})
	})
}

func containsAny(list, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) })
}
