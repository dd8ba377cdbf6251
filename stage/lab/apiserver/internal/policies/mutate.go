package policies

import (
	"context"
	"fmt"
	"slices"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/client-go/informers"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	mutatingKind        = group.WithKind("MutatingAdmissionPolicy")
	mutatingBindingKind = group.WithKind("MutatingAdmissionPolicyBinding")
)

// Types returns what knows the types of the fields of a kind; nil if the kind is not known.
type Types func(schema.GroupVersionKind) managedfields.TypeConverter

// GetTypeConverter is part of patch.TypeConverterManager.
func (t Types) GetTypeConverter(kind schema.GroupVersionKind) managedfields.TypeConverter {
	return t(kind)
}

// Run is part of patch.TypeConverterManager. There is nothing to wait for.
func (Types) Run(context.Context) {}

// Mutate returns what lets MutatingAdmissionPolicies change the object of a write; nil if none may be
// about it. The object is that of the attributes.
func (x *Index) Mutate(v *memory.Review) func(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	all := v.List(mutatingKind, "")
	if len(all) == 0 || unguarded[v.Resource] || v.New == nil {
		return nil
	}
	var found []mutation
	for _, u := range all {
		m, err := x.mutation(v, u)
		if err != nil {
			return func(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
				return notValid(mutatingKind, u.GetName(), err)
			}
		}
		if len(m.bindings) > 0 {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil
	}
	matcher := matching.NewMatcher(namespaces{found: attributes.NamespaceOf(v)}, nil)
	dispatcher := mutating.NewDispatcher(x.authorizer(), matcher, x.types)
	return func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
		kinds := x.cluster.Kinds()
		hooks := make([]mutating.PolicyHook, len(found))
		for i, m := range found {
			evaluator, err := m.evaluator()
			if err != nil {
				return notValid(mutatingKind, m.name, err)
			}
			hooks[i] = m.hook(kinds, evaluator)
		}
		return dispatcher.Dispatch(ctx, a, o, hooks)
	}
}

// A mutation is a policy that changes objects, with its bindings and their parameters.
type mutation struct {
	*mutator
	bindings []*mutating.PolicyBinding
	params   params
}

// A mutator is a policy that is compiled when it is first asked, without the lock of the cluster. It is
// immutable.
type mutator struct {
	*mutating.Policy
	name      string
	rules     []admissionregistration.RuleWithOperations
	paramKind schema.GroupVersionKind // empty: there are no parameters
	evaluator func() (mutating.PolicyEvaluator, error)
}

// mutation returns a policy without bindings if it cannot be about a write.
func (x *Index) mutation(v *memory.Review, u *unstructured.Unstructured) (mutation, error) {
	p, err := x.mutator(u)
	if err != nil || !attributes.MayMatch(p.rules, v) {
		return mutation{}, err
	}
	m := mutation{mutator: p}
	for _, b := range v.List(mutatingBindingKind, "") {
		var given admissionregistration.ValidatingAdmissionPolicyBinding // has the fields that are needed here
		binding := &mutating.PolicyBinding{}
		if err := readBoth(b, &given, binding); err != nil {
			return mutation{}, err
		}
		if given.Spec.PolicyName == u.GetName() {
			m.bindings = append(m.bindings, binding)
			m.params = append(m.params, paramsOf(v, p.paramKind, given.Spec.ParamRef)...)
		}
	}
	return m, nil
}

func readBoth(u *unstructured.Unstructured, into ...any) error {
	for _, to := range into {
		if err := read(u, to); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) mutator(u *unstructured.Unstructured) (*mutator, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mutators.of(u, func() (*mutator, error) { return newMutator(x.compiler, u) })
}

func (m mutation) hook(kinds []memory.Kind, evaluator mutating.PolicyEvaluator) mutating.PolicyHook {
	h := mutating.PolicyHook{Policy: m.Policy, Bindings: m.bindings, Evaluator: evaluator}
	h.ParamInformer, h.ParamScope, h.ConfigurationError = m.params.informer(m.paramKind, kinds)
	return h
}

// informer returns what knows the parameters of a policy; nil if it has none.
func (p params) informer(kind schema.GroupVersionKind, kinds []memory.Kind) (found informers.GenericInformer, scope meta.RESTScope, err error) {
	if kind.Empty() {
		return nil, nil, nil
	}
	i := slices.IndexFunc(kinds, func(k memory.Kind) bool { return k.GroupVersionKind == kind })
	switch {
	case i < 0:
		return nil, nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", kind)
	case kinds[i].ClusterScoped:
		return informer{objects: p, resource: kinds[i]}, meta.RESTScopeRoot, nil
	}
	return informer{objects: p, resource: kinds[i]}, meta.RESTScopeNamespace, nil
}
