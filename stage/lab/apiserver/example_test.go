package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An example has no *testing.T: this is what Start needs of one.
type example struct{ cleanups []func() }

func (*example) Helper()                           {}
func (*example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (e *example) Cleanup(f func())                { e.cleanups = append(e.cleanups, f) }
func (e *example) end() {
	for _, f := range e.cleanups {
		f()
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}

// Any client takes the configuration. Nothing listens: connections are in memory.
func ExampleStart() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	version, err := client.Discovery().ServerVersion()
	fmt.Println(version.Major, version.Minor, err)
	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "none", metav1.GetOptions{})
	fmt.Println(err)
	// Output:
	// 1 36 <nil>
	// configmaps "none" not found
}

// A program in another process takes the kubeconfig. Who has no token is refused.
func ExampleListen() {
	listener, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	kubeconfig, err := listener.Kubeconfig() // write it to a file, and set KUBECONFIG to its path
	fmt.Println(strings.Contains(string(kubeconfig), listener.URL()), err)
	_, err = kubernetes.NewForConfigOrDie(listener.Config()).Discovery().ServerVersion()
	fmt.Println(err)
	config := rest.AnonymousClientConfig(listener.Config())
	_, err = kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion()
	fmt.Println(apierrors.IsUnauthorized(err))
	// Output:
	// true <nil>
	// <nil>
	// true
}

// A listener has the options of a server, and an address.
func ExampleListenOptions() {
	listener, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{
		Address: "127.0.0.1:0", // a free port
		Options: apiserver.Options{Bare: true},
	})
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	fmt.Println(strings.HasPrefix(listener.URL(), "https://127.0.0.1:"))
	// Output: true
}

// A server is an http.Handler, for a listener of your own.
func ExampleNew() {
	handler, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	fmt.Println(err)
	// Output: <nil>
}

// The log of requests stands in the place of the actions that a fake records.
func ExampleOptions_log() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	options := apiserver.Options{Log: func(r apiserver.Request) { fmt.Println(r.Verb, r.URI, r.Code) }}
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), options)).CoreV1().ConfigMaps("default")
	_, _ = client.Create(ctx, configMap("a"), metav1.CreateOptions{})
	_ = client.Delete(ctx, "b", metav1.DeleteOptions{})
	// Output:
	// create /api/v1/namespaces/default/configmaps 201
	// delete /api/v1/namespaces/default/configmaps/b 404
}

// A middleware stands in the place of reactors and interceptors: here the first update fails.
func ExampleOptions_middleware() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	failed := false
	options := apiserver.Options{Middleware: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && !failed {
				failed = true
				http.Error(w, "etcd leader changed", http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
		})
	}}
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), options)).CoreV1().ConfigMaps("default")
	stored, _ := client.Create(ctx, configMap("a"), metav1.CreateOptions{})
	for range 2 {
		_, err := client.Update(ctx, stored, metav1.UpdateOptions{})
		fmt.Println(err)
	}
	// Output:
	// an error on the server ("etcd leader changed") has prevented the request from succeeding (put configmaps a)
	// <nil>
}

// A bare server creates nothing in namespaces.
func ExampleOptions_bare() {
	ctx := context.Background()
	for _, bare := range []bool{false, true} {
		t := &example{}
		client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{Bare: bare}))
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		accounts, _ := client.CoreV1().ServiceAccounts("shop").List(ctx, metav1.ListOptions{})
		fmt.Println(err, len(accounts.Items))
		t.end()
	}
	// Output:
	// <nil> 1
	// <nil> 0
}

// Pods get the token of their ServiceAccount.
func ExampleOptions_serviceAccounts() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{ServiceAccounts: true}))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	stored, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(stored.Spec.ServiceAccountName, stored.Spec.Containers[0].VolumeMounts[0].MountPath)
	// Output: default /var/run/secrets/kubernetes.io/serviceaccount
}

// Roles decide what a user may do, here one that a client impersonates.
func ExampleOptions_rBAC() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	config := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{RBAC: true})
	config.Impersonate.UserName = "jane"
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	fmt.Println(err)
	// Output: pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"
}

// A webhook of a Service is called without a connection; of a manager take its webhook server's mux.
func ExampleOptions_webhooks() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	refuse := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := admissionv1.AdmissionReview{}
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "not on Mondays"}}
		_ = json.NewEncoder(w).Encode(review)
	})
	options := apiserver.Options{Webhooks: func(host string) http.Handler {
		if host == "webhooks.system.svc" {
			return refuse
		}
		return nil
	}}
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), options))
	none := admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "mondays"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "mondays.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "webhooks"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	_, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
	fmt.Println(err)
	// Output: admission webhook "mondays.example.com" denied the request: not on Mondays
}

// Webhooks with a URL outside loopback are called only if the option allows their host.
func ExampleOptions_webhookHosts() {
	t, ctx := &example{}, context.Background()
	defer t.end()
	url, none := "https://192.0.2.1:9443/admit", admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "elsewhere.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	options := apiserver.Options{WebhookHosts: func(host string) bool { return host == "webhooks.example.com:443" }}
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), options))
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	_, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
	fmt.Println(strings.Contains(err.Error(), "webhooks on 192.0.2.1:9443 are forbidden: only loopback is called; allow the host by Options.WebhookHosts of package apiserver"))
	// Output: true
}
