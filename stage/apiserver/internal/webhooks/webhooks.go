package webhooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	group           = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	mutatingKind    = group.WithKind("MutatingWebhookConfiguration")
	validatingKind  = group.WithKind("ValidatingWebhookConfiguration")
	namespaceKind   = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	pluginsToForget = 256
)

// A Caller calls webhooks. It is safe for concurrent use; forks of a cluster share it.
type Caller struct {
	handler Handlers
	objects objects

	mu      sync.Mutex
	plugins map[string]*plugin // by what they were made of
}

// New returns a Caller for a cluster, of which only the kinds are asked. fill fills in the defaults of
// custom objects. Webhooks on hosts with a handler are called without a connection.
func New(c *memory.Cluster, fill func(*unstructured.Unstructured), h Handlers) *Caller {
	return &Caller{handler: h, objects: objects{c, fill}, plugins: map[string]*plugin{}}
}

// Hooks are the hooks of a cluster that call its webhooks.
func (c *Caller) Hooks() memory.Hooks {
	return memory.Hooks{
		Name:     "webhooks",
		Validate: validate,
		Remote:   func(v *memory.Review) func() error { return c.ask(v, mutatingKind) },
		Confirm:  func(v *memory.Review) func() error { return c.ask(v, validatingKind) },
	}
}

// ask returns what calls the webhooks of a kind of configuration; nil if none is concerned.
func (c *Caller) ask(v *memory.Review, kind schema.GroupVersionKind) func() error {
	found := v.List(kind, "")
	if len(found) == 0 || v.Resource.Group == group.Group {
		return nil
	}
	p, err := c.plugin(v, kind, found)
	if err != nil {
		return func() error { return err }
	}
	attributes := c.attributes(v)
	if !p.concerns(attributes) {
		return nil
	}
	return func() error {
		if err := p.call(v.Context(), attributes, c.objects); err != nil {
			return err
		}
		if v.New != nil && kind == mutatingKind {
			clear(v.New.Object)
			maps.Copy(v.New.Object, attributes.GetObject().(*unstructured.Unstructured).Object)
		}
		return nil
	}
}

// plugin returns the plugin for the configurations and the namespace of a write.
func (c *Caller) plugin(v *memory.Review, kind schema.GroupVersionKind, configurations []*unstructured.Unstructured) (*plugin, error) {
	namespace := namespaceOf(v)
	key := &strings.Builder{}
	fmt.Fprintf(key, "%s %s %v", kind.Kind, namespace.Name, namespace.Labels)
	for _, u := range configurations {
		fmt.Fprintf(key, " %s/%s", u.GetUID(), u.GetResourceVersion())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.plugins[key.String()]; p != nil {
		return p, nil
	}
	p, err := newPlugin(kind, configurations, namespace, c.handler)
	if err != nil {
		return nil, err
	}
	if len(c.plugins) >= pluginsToForget {
		clear(c.plugins)
	}
	c.plugins[key.String()] = p
	return p, nil
}

// namespaceOf returns the namespace of a write with its labels.
func namespaceOf(v *memory.Review) *metav1.ObjectMeta {
	name := v.Name.Namespace
	meta := &metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name}}
	if stored := v.Get(namespaceKind, types.NamespacedName{Name: name}); name != "" && stored != nil {
		meta.Labels = stored.GetLabels()
	}
	return meta
}

// attributes describe a write in the form that plugins take.
func (c *Caller) attributes(v *memory.Review) admission.Attributes {
	var now, before runtime.Object
	if v.New != nil {
		now = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(v.New.Object)}
	}
	if v.Old != nil {
		before = &unstructured.Unstructured{Object: v.Old.Object}
	}
	operation, options := operationOf(v)
	return admission.NewAttributesRecord(now, before, v.Kind, v.Name.Namespace, v.Name.Name,
		v.Resource.WithVersion(v.Kind.Version), v.Subresource, operation, options, v.DryRun,
		userOf(v))
}

// userOf returns who writes: the user of the cluster, if nobody is impersonated.
func userOf(v *memory.Review) user.Info {
	if v.User != "" {
		return &user.DefaultInfo{Name: v.User, Groups: []string{"system:authenticated"}}
	}
	return &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}}
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
	switch {
	case v.Old == nil:
		return admission.Create, &metav1.CreateOptions{TypeMeta: typeMeta("CreateOptions"), DryRun: dryRun, FieldManager: v.Manager}
	case v.New == nil:
		return admission.Delete, &metav1.DeleteOptions{TypeMeta: typeMeta("DeleteOptions"), DryRun: dryRun}
	}
	return admission.Update, &metav1.UpdateOptions{TypeMeta: typeMeta("UpdateOptions"), DryRun: dryRun, FieldManager: v.Manager}
}

// mayMatch reports whether a rule is about a write, whatever the version and scope.
func mayMatch(rule admissionregistration.RuleWithOperations, a admission.Attributes) bool {
	resource := a.GetResource().Resource
	names := []string{resource, "*", "*/*"}
	if sub := a.GetSubresource(); sub != "" {
		names = []string{resource + "/" + sub, "*/" + sub, resource + "/*", "*/*"}
	}
	return slices.ContainsFunc(rule.Operations, func(o admissionregistration.OperationType) bool {
		return o == admissionregistration.OperationAll || string(o) == string(a.GetOperation())
	}) && containsAny(rule.Resources, names...) && containsAny(rule.APIGroups, a.GetResource().Group, "*")
}

func containsAny(list []string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) })
}

// A plugin calls the webhooks of one state of the configurations about writes in one namespace. It is
// immutable.
type plugin struct {
	rules []admissionregistration.RuleWithOperations
	call  call
}

// A call asks webhooks about a write.
type call func(context.Context, admission.Attributes, admission.ObjectInterfaces) error

// concerns reports whether a webhook may have to be called.
func (p *plugin) concerns(a admission.Attributes) bool {
	return slices.ContainsFunc(p.rules, func(r admissionregistration.RuleWithOperations) bool { return mayMatch(r, a) })
}
