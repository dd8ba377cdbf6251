package webhooks

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// newPlugin makes the plugin of k8s.io/apiserver for configurations of a kind.
func newPlugin(kind schema.GroupVersionKind, configurations []*unstructured.Unstructured, namespace *corev1.Namespace, h Handlers) (*plugin, error) {
	found := &found{namespace: namespace}
	p := &plugin{}
	for _, u := range configurations {
		if err := found.add(u); err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("%s %q: %w", u.GetKind(), u.GetName(), err))
		}
	}
	p.rules = found.rules()
	var of *generic.Webhook
	if kind == mutatingKind {
		m, err := mutating.NewMutatingWebhook(nil)
		if err != nil {
			return nil, err
		}
		of, p.call = m.Webhook, m.Admit
	} else {
		v, err := validating.NewValidatingAdmissionWebhook(nil)
		if err != nil {
			return nil, err
		}
		of, p.call = v.Webhook, v.Validate
	}
	of.SetAuthenticationInfoResolverWrapper(func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return h })
	if err := authorizeEverybody(of); err != nil {
		return nil, err
	}
	informers, err := found.informers()
	if err != nil {
		return nil, err
	}
	of.SetExternalKubeInformerFactory(informers)
	of.SetExternalKubeClientSet(&kubernetes.Clientset{}) // it would be asked for a namespace that the informer does not have
	if err := of.ValidateInitialization(); err != nil {
		return nil, err
	}
	of.SetReadyFunc(func() bool { return true }) // the informers have what they will ever have
	return p, nil
}

// reinvoked asks policies and webhooks once more that want it, if one that was asked later has changed
// the object.
func reinvoked(admit call) call {
	return func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
		err := admit(ctx, a, o)
		if again := a.GetReinvocationContext(); err == nil && again.ShouldReinvoke() {
			again.SetIsReinvoke()
			return admit(ctx, a, o)
		}
		return err
	}
}

// authorizeEverybody lets the conditions of webhooks see that everybody may do everything. Kubernetes
// 1.37 has another name for the method.
func authorizeEverybody(of *generic.Webhook) error {
	v := reflect.ValueOf(of)
	for _, set := range []reflect.Value{v.MethodByName("SetAuthorizer"), v.MethodByName("SetUnconditionalAuthorizer")} {
		if set.IsValid() {
			set.Call([]reflect.Value{reflect.ValueOf(everybody{})})
			return nil
		}
	}
	return fmt.Errorf("%T takes no authorizer", of)
}

// everybody may do everything, as the reviews of access of this server say.
type everybody struct{}

func (everybody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// found is what a write has found in the cluster.
type found struct {
	namespace  *corev1.Namespace
	mutating   []*admissionregistration.MutatingWebhookConfiguration
	validating []*admissionregistration.ValidatingWebhookConfiguration
}

// add reads a configuration.
func (f *found) add(u *unstructured.Unstructured) error {
	read := func(into any) error {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(runtime.DeepCopyJSON(u.Object), into)
	}
	if u.GetKind() == mutatingKind.Kind {
		c := &admissionregistration.MutatingWebhookConfiguration{}
		f.mutating = append(f.mutating, c)
		return read(c)
	}
	c := &admissionregistration.ValidatingWebhookConfiguration{}
	f.validating = append(f.validating, c)
	return read(c)
}

// informers returns informers that have been filled by hand and are never started.
func (f *found) informers() (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	hooks := factory.Admissionregistration().V1()
	err := factory.Core().V1().Namespaces().Informer().GetIndexer().Add(f.namespace)
	for _, c := range f.mutating {
		err = errors.Join(err, hooks.MutatingWebhookConfigurations().Informer().GetIndexer().Add(c))
	}
	for _, c := range f.validating {
		err = errors.Join(err, hooks.ValidatingWebhookConfigurations().Informer().GetIndexer().Add(c))
	}
	return factory, err
}

// rules returns the rules of all webhooks.
func (f *found) rules() (all []admissionregistration.RuleWithOperations) {
	for _, c := range f.mutating {
		for i := range c.Webhooks {
			all = append(all, c.Webhooks[i].Rules...)
		}
	}
	for _, c := range f.validating {
		for i := range c.Webhooks {
			all = append(all, c.Webhooks[i].Rules...)
		}
	}
	return all
}
