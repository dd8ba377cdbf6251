package envtest_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	upstream "sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stagecraft-go/stagecraft/stage/lab/envtest"
)

// TestMain lets this test be the program that Install copies.
func TestMain(m *testing.M) {
	if envtest.IsProgram(os.Args[0]) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(envtest.Run(ctx, os.Args, os.Stdout, os.Stderr))
	}
	dir, err := os.MkdirTemp("", "stagecraft-assets-")
	if err == nil {
		_, err = envtest.Install(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	installed = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// installed is a directory with the stand-ins.
var installed string

// assets points KUBEBUILDER_ASSETS at it.
func assets(t *testing.T) { t.Setenv("KUBEBUILDER_ASSETS", installed) }

// start starts a control plane as suites do.
func start(t *testing.T, env *upstream.Environment) *rest.Config {
	config, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	return config
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return c
}

// TestControlPlanes checks that two control planes of one test are apart, and that a user of AddUser is
// who its certificate says.
func TestControlPlanes(t *testing.T) {
	assets(t)
	first, second := &upstream.Environment{}, &upstream.Environment{}
	a, b := newClient(t, start(t, first)), newClient(t, start(t, second))
	in := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	require.NoError(t, a.Create(t.Context(), in("a")))
	require.True(t, apierrors.IsNotFound(b.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, in("a"))))
	requireUser(t, first)
}

// TestWebhooks checks that a webhook that envtest installs refuses what it refuses elsewhere.
func TestWebhooks(t *testing.T) {
	assets(t)
	fail, none, path := admissionv1.Fail, admissionv1.SideEffectClassNone, "/validate"
	env := &upstream.Environment{WebhookInstallOptions: upstream.WebhookInstallOptions{ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "no"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "no.x.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none, FailurePolicy: &fail,
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "no", Path: &path}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		}},
	}}}}
	c := newClient(t, start(t, env))
	o := env.WebhookInstallOptions
	server := webhook.NewServer(webhook.Options{Host: o.LocalServingHost, Port: o.LocalServingPort, CertDir: o.LocalServingCertDir})
	server.Register(path, &webhook.Admission{Handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		return admission.ValidationResponse(r.Name != "bad", "that is bad")
	})})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool { return server.StartedChecker()(nil) == nil }, 10*time.Second, 10*time.Millisecond)
	in := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	require.NoError(t, c.Create(ctx, in("good")))
	require.ErrorContains(t, c.Create(ctx, in("bad")), `admission webhook "no.x.io" denied the request: that is bad`)
}

// TestALabIsBehindTheServer checks that a Deployment becomes available with the second variable.
func TestALabIsBehindTheServer(t *testing.T) {
	assets(t)
	t.Setenv("STAGECRAFT_LAB", "2")
	c := newClient(t, start(t, &upstream.Environment{}))
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}},
	}}
	require.NoError(t, c.Create(t.Context(), web))
	require.Eventually(t, func() bool {
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(web), web))
		return web.Status.AvailableReplicas == 1
	}, time.Minute, 20*time.Millisecond)
	nodes := &corev1.NodeList{}
	require.NoError(t, c.List(t.Context(), nodes))
	require.Len(t, nodes.Items, 2)
}

// TestFlags checks what is refused, what is reported, and that the programs end with their context.
func TestFlags(t *testing.T) {
	run := func(args ...string) (int, string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs bytes.Buffer
		code := envtest.Run(ctx, args, &out, &errs)
		return code, out.String() + errs.String()
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"etcd", "--help"}, 0, "listen-client-urls"},
		{[]string{"/x/kube-apiserver.exe", "-h"}, 0, "--secure-port int"},
		{[]string{"kube-apiserver", "--version"}, 0, "Kubernetes v1.36"},
		{[]string{"kube-scheduler"}, 2, "neither etcd nor kube-apiserver"},
		{[]string{"etcd"}, 1, `--listen-client-urls: want a URL such as http://127.0.0.1:2379, got ""`},
		{[]string{"etcd", "--listen-client-urls", "http://127.0.0.1:0"}, 0, ""},
		{[]string{"kube-apiserver", "serve"}, 1, `argument 1: want a flag such as --secure-port=6443, got "serve"`},
		{[]string{"kube-apiserver", "--secure-port=0"}, 0, "serving a Kubernetes in memory at https://127.0.0.1:"},
		{[]string{"kube-apiserver", "--authorization-mode=Webhook", "--client-ca-file=missing"}, 1, "--client-ca-file: open missing: no such file or directory\n--authorization-mode=Webhook is not modelled"},
		{[]string{"kube-apiserver", "--secure-port=0", "--tls-cert-file=missing"}, 1, "the certificate of the server: open missing"},
	} {
		code, text := run(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, text)
		require.Contains(t, text, c.want)
	}
	t.Setenv("STAGECRAFT_LAB", "many")
	code, text := run("kube-apiserver", "--secure-port=0")
	require.Equal(t, 1, code)
	require.Contains(t, text, `STAGECRAFT_LAB: want the number of Nodes, from 0 to 10000, got "many"`)
}

// TestFlagsWithoutEffectAreTold checks that clients see which flags have no effect, once.
func TestFlagsWithoutEffectAreTold(t *testing.T) {
	assets(t)
	env := &upstream.Environment{}
	env.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "Sidecars=true").Append("disable-admission-plugins", "Priority")
	config := start(t, env)
	var told []string
	config.WarningHandler = warnings(func(text string) { told = append(told, text) })
	c := newClient(t, config)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
	}
	require.Equal(t, []string{
		"--feature-gates=Sidecars=true has no effect on a kube-apiserver in memory",
		"--disable-admission-plugins=Priority has no effect on a kube-apiserver in memory",
	}, told)
}

type warnings func(string)

func (f warnings) HandleWarningHeader(_ int, _ string, text string) { f(text) }

// TestInstall checks that a directory can be made again, and keeps the kubectl that it has.
func TestInstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	t.Setenv("PATH", t.TempDir())
	for range 2 {
		has, err := envtest.Install(dir)
		require.NoError(t, err)
		require.False(t, has)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\n"), 0o755))
	has, err := envtest.Install(dir)
	require.NoError(t, err)
	require.True(t, has)
	_, err = envtest.Install(filepath.Join(dir, "etcd", "below"))
	require.Error(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "*.*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestHealth checks that checks of health need no credentials, and that objects do.
func TestHealth(t *testing.T) {
	assets(t)
	config := start(t, &upstream.Environment{})
	get := func(path string) int {
		c, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData}})
		require.NoError(t, err)
		answer, err := c.Get(strings.TrimSuffix(config.Host, "/") + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, http.StatusOK, get("/readyz"))
	require.Equal(t, http.StatusForbidden, get("/api/v1/pods"))
	host, _, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(config.Host, "https://"), "/"))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host)
}

// TestARestartIsEmpty shows that objects do not outlive kube-apiserver.
func TestARestartIsEmpty(t *testing.T) {
	assets(t)
	env := &upstream.Environment{}
	config := start(t, env)
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	require.NoError(t, newClient(t, config).Create(t.Context(), made))
	server := env.ControlPlane.GetAPIServer()
	require.NoError(t, server.Stop())
	require.NoError(t, server.Start())
	user, err := env.AddUser(upstream.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	require.NoError(t, err)
	require.True(t, apierrors.IsNotFound(newClient(t, user.Config()).Get(t.Context(), client.ObjectKeyFromObject(made), made)))
}
