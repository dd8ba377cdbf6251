package policies

import (
	"context"
	"fmt"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// unguarded are the resources that no policy is about.
var unguarded = map[schema.GroupResource]bool{
	{Group: group.Group, Resource: "mutatingadmissionpolicies"}:         true,
	{Group: group.Group, Resource: "mutatingadmissionpolicybindings"}:   true,
	{Group: group.Group, Resource: "validatingadmissionpolicies"}:       true,
	{Group: group.Group, Resource: "validatingadmissionpolicybindings"}: true,
}

// ask returns what asks the policies about a write; nil if none may be about it.
func (x *Index) ask(v *memory.Review) func() error {
	all := v.List(policyKind, "")
	if len(all) == 0 || unguarded[v.Resource] {
		return nil
	}
	w := &write{index: x}
	for _, u := range all {
		p, err := x.policy(u)
		if err == nil && attributes.MayMatch(rulesIn(p.Spec.MatchConstraints), v) {
			err = w.add(v, p)
		}
		if err != nil {
			return func() error { return notValid(policyKind, u.GetName(), err) }
		}
	}
	if len(w.bound) == 0 {
		return nil
	}
	w.context, w.attributes, w.namespace = v.Context(), attributes.Of(v), attributes.NamespaceOf(v)
	return w.decide
}

// notValid is the answer to a write if a policy cannot be read, which came into the cluster before
// policies were validated.
func notValid(kind schema.GroupVersionKind, name string, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("%s %q is not valid: %w", kind.Kind, name, err))
}

func rulesIn(m *admissionregistration.MatchResources) (all []admissionregistration.RuleWithOperations) {
	if m == nil {
		return nil
	}
	for _, r := range m.ResourceRules {
		all = append(all, r.RuleWithOperations)
	}
	return all
}

// A write is what policies are asked about, and what it has found in the cluster.
type write struct {
	index      *Index
	context    context.Context
	attributes admission.Attributes
	namespace  *corev1.Namespace
	bound      []bound
}

// A bound policy has bindings.
type bound struct {
	*policy
	bindings []*admissionregistration.ValidatingAdmissionPolicyBinding
	params   params
}

// add adds a policy with its bindings, if it has any, and their parameters.
func (w *write) add(v *memory.Review, p *policy) error {
	b := bound{policy: p}
	for _, u := range v.List(bindingKind, "") {
		binding, err := w.index.binding(u)
		if err != nil {
			return err
		}
		if binding.Spec.PolicyName == p.Name {
			b.bindings = append(b.bindings, binding)
			b.params = append(b.params, paramsOf(v, p.paramKind, binding.Spec.ParamRef)...)
		}
	}
	if len(b.bindings) > 0 {
		w.bound = append(w.bound, b)
	}
	return nil
}

// paramsOf returns the objects that a binding may refer to.
func paramsOf(v *memory.Review, kind schema.GroupVersionKind, ref *admissionregistration.ParamRef) params {
	switch {
	case kind.Empty() || ref == nil:
		return nil
	case ref.Name == "":
		return v.List(kind, "")
	}
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if name.Namespace == "" {
		name.Namespace = v.Name.Namespace
	}
	if found := v.Get(kind, name); found != nil {
		return params{found}
	}
	return nil
}

// decide asks the policies. It is called without the lock of the cluster.
func (w *write) decide() error {
	matcher := generic.NewPolicyMatcher(matching.NewMatcher(namespaces{found: w.namespace}, nil))
	dispatcher := validating.NewDispatcher(w.index.authorizer(), matcher)
	kinds := w.index.cluster.Kinds()
	hooks := make([]validating.PolicyHook, len(w.bound))
	for i, b := range w.bound {
		evaluator, err := b.evaluator()
		if err != nil {
			return notValid(policyKind, b.Name, err)
		}
		hooks[i] = b.hook(kinds, evaluator)
	}
	return dispatcher.Dispatch(w.context, w.attributes, w.index.objects, hooks)
}

// hook returns a policy in the form that is dispatched.
func (b bound) hook(kinds []memory.Kind, evaluator validating.Validator) validating.PolicyHook {
	h := validating.PolicyHook{Policy: b.ValidatingAdmissionPolicy, Bindings: b.bindings, Evaluator: evaluator}
	h.ParamInformer, h.ParamScope, h.ConfigurationError = b.params.informer(b.paramKind, kinds)
	return h
}

// namespaces has the namespace of a write: no other one is asked for.
type namespaces struct {
	corelisters.NamespaceLister
	found *corev1.Namespace
}

func (n namespaces) Get(string) (*corev1.Namespace, error) { return n.found, nil }
