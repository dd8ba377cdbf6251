package policies

import (
	"reflect"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	group       = schema.GroupVersion{Group: admissionregistration.GroupName, Version: "v1"}
	policyKind  = group.WithKind("ValidatingAdmissionPolicy")
	bindingKind = group.WithKind("ValidatingAdmissionPolicyBinding")
)

// An Index has the compiled policies of a cluster. It is safe for concurrent use; forks of the
// cluster share it.
type Index struct {
	// Authorizer answers the expressions that ask for one. Nil: everything is allowed. It is set
	// before the first write.
	Authorizer authorizer.Authorizer

	cluster  *memory.Cluster
	compiler *rules.Compiler
	objects  admission.ObjectInterfaces
	types    Types

	mu       sync.Mutex
	policies compiled[*policy]
	bindings compiled[*admissionregistration.ValidatingAdmissionPolicyBinding]
	mutators compiled[*mutator]
}

// New returns an index for a cluster, of which only the kinds are asked.
func New(c *memory.Cluster, by *rules.Compiler, o admission.ObjectInterfaces, t Types) *Index {
	return &Index{cluster: c, compiler: by, objects: o, types: t}
}

// authorizer answers expressions.
func (x *Index) authorizer() authorizer.Authorizer {
	if x.Authorizer == nil {
		return authorizerfactory.NewAlwaysAllowAuthorizer()
	}
	return x.Authorizer
}

// Hooks are the hooks of a cluster that carry out its policies.
func (x *Index) Hooks() memory.Hooks {
	return memory.Hooks{Name: "policies", Validate: x.validate, Confirm: x.ask}
}

// A policy is compiled when it is first asked, without the lock of the cluster. It is immutable.
type policy struct {
	*admissionregistration.ValidatingAdmissionPolicy
	paramKind schema.GroupVersionKind // empty: there are no parameters
	evaluator func() (validating.Validator, error)
}

func (x *Index) policy(u *unstructured.Unstructured) (*policy, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.policies.of(u, func() (*policy, error) {
		given := &admissionregistration.ValidatingAdmissionPolicy{}
		if err := read(u, given); err != nil {
			return nil, err
		}
		return newPolicy(x.compiler, given), nil
	})
}

func (x *Index) binding(u *unstructured.Unstructured) (*admissionregistration.ValidatingAdmissionPolicyBinding, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bindings.of(u, func() (*admissionregistration.ValidatingAdmissionPolicyBinding, error) {
		given := &admissionregistration.ValidatingAdmissionPolicyBinding{}
		return given, read(u, given)
	})
}

// read gives a Go type the fields of an object.
func read(u *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}

// compiled has what was made of the specs of objects, by their names.
type compiled[T any] map[string]specced[T]

type specced[T any] struct {
	spec any
	made T
}

// mostKept is of how many names of objects it is kept what was made of them.
const mostKept = 1000

// of returns what was made of an object, after making it if its spec has changed.
func (c *compiled[T]) of(u *unstructured.Unstructured, doMake func() (T, error)) (T, error) {
	spec := u.Object["spec"]
	known, found := (*c)[u.GetName()]
	if found && reflect.DeepEqual(known.spec, spec) { // the same map is equal at once
		return known.made, nil
	}
	made, err := doMake()
	if err != nil {
		return made, err
	}
	if *c == nil || len(*c) >= mostKept {
		*c = compiled[T]{}
	}
	(*c)[u.GetName()] = specced[T]{spec, made}
	return made, nil
}
