package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
)

// A muxServer is the webhook server of a manager that listens nowhere.
type muxServer struct{ webhook.Server }

func (muxServer) Start(ctx context.Context) error { <-ctx.Done(); return nil }

// colours gives ConfigMaps a colour and refuses green ones.
type colours struct{}

func (colours) Default(_ context.Context, cm *corev1.ConfigMap) error {
	if cm.Data["colour"] == "" {
		cm.Data = map[string]string{"colour": "red"}
	}
	return nil
}

func (colours) ValidateCreate(_ context.Context, cm *corev1.ConfigMap) (admission.Warnings, error) {
	return admission.Warnings{"it has a colour"}, refuseGreen(cm)
}

func (colours) ValidateUpdate(_ context.Context, _, cm *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, refuseGreen(cm)
}

func (colours) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}

func refuseGreen(cm *corev1.ConfigMap) error {
	if cm.Data["colour"] == "green" {
		return fmt.Errorf("not green")
	}
	return nil
}

func webhookOf(path string) (name string, c admissionregistration.WebhookClientConfig, rules []admissionregistration.RuleWithOperations) {
	return "colours.example.com", admissionregistration.WebhookClientConfig{
			Service: &admissionregistration.ServiceReference{Namespace: "system", Name: "webhooks", Path: &path}},
		[]admissionregistration.RuleWithOperations{{
			Operations: []admissionregistration.OperationType{admissionregistration.Create, admissionregistration.Update},
			Rule:       admissionregistration.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}}
}

// TestWebhooksOfAManager is a program in virtual time: the webhooks of an unmodified manager are
// called without a connection, at the Service that the configurations name.
func TestWebhooksOfAManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t)
		webhooks := muxServer{webhook.NewServer(webhook.Options{})}
		cfg := apiserver.Start(t, lab.Cluster(), apiserver.Options{Webhooks: func(host string) http.Handler {
			if host == "webhooks.system.svc" {
				return webhooks.WebhookMux()
			}
			return nil
		}})
		mgr, err := ctrl.NewManager(cfg, ctrl.Options{WebhookServer: webhooks, Metrics: metricsserver.Options{BindAddress: "0"}})
		require.NoError(t, err)
		require.NoError(t, ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithDefaulter(colours{}).WithValidator(colours{}).Complete())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
		lab.Advance(time.Second)

		c := mgr.GetClient()
		meta := metav1.ObjectMeta{Name: "colours"}
		none := new(admissionregistration.SideEffectClassNone)
		name, target, rules := webhookOf("/mutate--v1-configmap")
		require.NoError(t, c.Create(t.Context(), &admissionregistration.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistration.MutatingWebhook{
			{Name: name, ClientConfig: target, Rules: rules, SideEffects: none, AdmissionReviewVersions: []string{"v1"}}}}))
		name, target, rules = webhookOf("/validate--v1-configmap")
		require.NoError(t, c.Create(t.Context(), &admissionregistration.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistration.ValidatingWebhook{
			{Name: name, ClientConfig: target, Rules: rules, SideEffects: none, AdmissionReviewVersions: []string{"v1"}}}}))

		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		require.NoError(t, c.Create(t.Context(), cm))
		require.Equal(t, map[string]string{"colour": "red"}, cm.Data)
		cm.Data["colour"] = "green"
		require.EqualError(t, c.Update(t.Context(), cm), `admission webhook "colours.example.com" denied the request: not green`)
		err = c.Patch(t.Context(), cm, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"colour":"green"}}`)))
		require.ErrorContains(t, err, "not green")
	})
}

// TestServicesWithoutHandlersAreNamed holds that a webhook whose Service nobody serves says what to
// do, and is passed over where its failurePolicy says so.
func TestServicesWithoutHandlersAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t)
		c, err := client.New(apiserver.Start(t, lab.Cluster(), apiserver.Options{}), client.Options{})
		require.NoError(t, err)
		name, target, rules := webhookOf("/")
		hook := admissionregistration.ValidatingWebhook{Name: name, ClientConfig: target, Rules: rules, SideEffects: new(admissionregistration.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
		configuration := &admissionregistration.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Webhooks: []admissionregistration.ValidatingWebhook{hook}}
		require.NoError(t, c.Create(t.Context(), configuration))
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		require.ErrorContains(t, c.Create(t.Context(), cm), "no handler for webhooks.system.svc: see Options.Webhooks")
		configuration.Webhooks[0].FailurePolicy = new(admissionregistration.Ignore)
		require.NoError(t, c.Update(t.Context(), configuration))
		require.NoError(t, c.Create(t.Context(), cm))
	})
}
