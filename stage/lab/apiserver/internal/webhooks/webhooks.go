package webhooks

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	group          = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	mutatingKind   = group.WithKind("MutatingWebhookConfiguration")
	validatingKind = group.WithKind("ValidatingWebhookConfiguration")
)

// A Caller calls webhooks. It is safe for concurrent use; forks of a cluster share it.
type Caller struct {
	handler  Handlers
	compiler *rules.Compiler
	objects  admission.ObjectInterfaces
	before   func(*memory.Review) func(context.Context, admission.Attributes, admission.ObjectInterfaces) error

	mu      sync.Mutex
	plugins kept[*plugin] // by what they were made of
}

// Options are those of a Caller.
type Options struct {
	Compiler *rules.Compiler
	Objects  admission.ObjectInterfaces
	Handlers Handlers // webhooks on hosts with a handler are called without a connection
	// Before returns what changes the object of a write before webhooks do, and again if they change
	// it; nil if nothing does.
	Before func(*memory.Review) func(context.Context, admission.Attributes, admission.ObjectInterfaces) error
}

// New returns a Caller.
func New(o Options) *Caller {
	return &Caller{handler: o.Handlers, compiler: o.Compiler, objects: o.Objects, before: o.Before}
}

// Hooks are the hooks of a cluster that call its webhooks.
func (c *Caller) Hooks() memory.Hooks {
	return memory.Hooks{
		Name:     "webhooks",
		Validate: c.validate,
		Remote:   c.mutate,
		Confirm:  c.confirm,
	}
}

// mutate returns what lets others change the object of a write; nil if nobody is concerned.
func (c *Caller) mutate(v *memory.Review) func() error {
	var chain []call
	if first := c.before(v); first != nil {
		chain = append(chain, first)
	}
	if hooks := c.webhooks(v, mutatingKind); hooks != nil {
		chain = append(chain, hooks)
	}
	if len(chain) == 0 {
		return nil
	}
	a := attributes.Of(v)
	return func() error {
		if err := reinvoked(inOrder(chain))(v.Context(), a, c.objects); err != nil {
			return err
		}
		if v.New != nil {
			clear(v.New.Object)
			maps.Copy(v.New.Object, a.GetObject().(*unstructured.Unstructured).Object)
		}
		return nil
	}
}

func inOrder(chain []call) call {
	return func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
		for _, ask := range chain {
			if err := ask(ctx, a, o); err != nil {
				return err
			}
		}
		return nil
	}
}

// confirm returns what asks validating webhooks; nil if none is concerned.
func (c *Caller) confirm(v *memory.Review) func() error {
	ask := c.webhooks(v, validatingKind)
	if ask == nil {
		return nil
	}
	a := attributes.Of(v)
	return func() error { return ask(v.Context(), a, c.objects) }
}

// webhooks returns what calls the webhooks of a kind of configuration; nil if none is concerned.
func (c *Caller) webhooks(v *memory.Review, kind schema.GroupVersionKind) call {
	found := v.List(kind, "")
	if len(found) == 0 || v.Resource.Group == group.Group {
		return nil
	}
	p, err := c.plugin(v, kind, found)
	if err != nil {
		return func(context.Context, admission.Attributes, admission.ObjectInterfaces) error { return err }
	}
	if !attributes.MayMatch(p.rules, v) {
		return nil
	}
	return p.call
}

// plugin returns the plugin for the configurations and the namespace of a write.
func (c *Caller) plugin(v *memory.Review, kind schema.GroupVersionKind, configurations []*unstructured.Unstructured) (*plugin, error) {
	namespace := attributes.NamespaceOf(v)
	key := &strings.Builder{}
	fmt.Fprintf(key, "%s %s %v", kind.Kind, namespace.Name, namespace.Labels)
	for _, u := range configurations {
		fmt.Fprintf(key, " %p", u.Object) // forks may have other objects of the same uid and version
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.plugins.of[key.String()]; p != nil {
		return p, nil
	}
	p, err := newPlugin(kind, configurations, namespace, c.handler)
	if err != nil {
		return nil, err
	}
	p.of = configurations
	bytes := 0
	for _, u := range configurations {
		bytes += sizeOf(u.Object)
	}
	c.plugins.put(key.String(), p, bytes)
	return p, nil
}

// A plugin calls the webhooks of one state of the configurations about writes in one namespace. It is
// immutable.
type plugin struct {
	of    []*unstructured.Unstructured // as they are stored: no others have their addresses meanwhile
	rules []admissionregistration.RuleWithOperations
	call  call
}

// A call asks webhooks about a write.
type call func(context.Context, admission.Attributes, admission.ObjectInterfaces) error
