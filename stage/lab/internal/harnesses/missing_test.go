package harnesses_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A served is a lab behind the server.
type served struct {
	*labtest.Lab
	t      *testing.T
	config *rest.Config
}

func serve(t *testing.T, o apiserver.Options) *served {
	lab := labtest.New(t, labtest.Options{})
	return &served{lab, t, apiserver.Start(t, lab.Cluster(), o)}
}

// ask sends a request to the server and returns the code and the text of the answer.
func (s *served) ask(method, path string, header http.Header) (int, string) {
	s.t.Helper()
	client, err := rest.HTTPClientFor(s.config)
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.config.Host+path, nil)
	require.NoError(s.t, err)
	r.Header = header
	answer, err := client.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return answer.StatusCode, string(text)
}

// reports returns whether the lab reports a kind and field.
func (s *served) reports(text string) bool {
	for _, use := range s.NotModelled() {
		if len(use.String()) >= len(text) && use.String()[:len(text)] == text {
			return true
		}
	}
	return false
}

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`

// TestMissing has the rows of stage/lab/MISSING.md.
func TestMissing(t *testing.T) {
	for name, test := range map[string]func(*served){
		"authorization":     missingAuthorization,
		"node-authorizer":   missingNodeAuthorizer,
		"reviews":           missingFieldsOfReviews,
		"bootstrap-objects": missingBootstrapObjects,
		"aggregation":       missingAggregation,
		"addresses-in-labs": missingAddresses,
		"proxy":             missingProxy,
		"connect":           missingConnect,
		"simulated":         missingSimulated,
		"resize":            missingResize,
		"audit-annotations": missingAuditAnnotations,
		"mountable-secrets": missingMountableSecrets,
		"webhooks-in-labs":  missingWebhooks,
		"declared-features": missingDeclaredFeatures,
		"node-admission":    missingNodeAdmission,
		"lifecycle":         missingLifecycle,
		"in-tree-volumes":   missingInTreeVolumes,
		"wrong-conversions": missingWrongConversions,
	} {
		o := apiserver.Options{ServiceAccounts: name == "mountable-secrets", RBAC: name == "node-authorizer"}
		t.Run(name, func(t *testing.T) { test(serve(t, o)) })
	}
}

func missingAuthorization(s *served) {
	config := rest.CopyConfig(s.config)
	config.Impersonate.UserName = "nobody"
	client := kubernetes.NewForConfigOrDie(config)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "secrets"}}}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(s.t.Context(), review, metav1.CreateOptions{})
	require.NoError(s.t, err)
	require.True(s.t, review.Status.Allowed)
	_, err = client.CoreV1().Secrets("kube-system").List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
}

func missingNodeAuthorizer(s *served) {
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:node-1", Groups: []string{"system:nodes"}}
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().Get(s.t.Context(), "node-1", metav1.GetOptions{})
	require.True(s.t, apierrors.IsForbidden(err), "%v", err)
}

func missingFieldsOfReviews(s *served) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}}}
	review, err := kubernetes.NewForConfigOrDie(s.config).AuthorizationV1().SelfSubjectAccessReviews().Create(s.t.Context(), review, metav1.CreateOptions{})
	require.NoError(s.t, err)
	require.Empty(s.t, review.ManagedFields)
}

func missingAggregation(s *served) {
	s.Apply(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.io}, spec: {group: x.io, version: v1,
  groupPriorityMinimum: 1, versionPriority: 1, service: {name: s, namespace: default}}}`)
	s.Settle()
	require.True(s.t, s.reports("APIService spec.service:"), s.NotModelled())
	code, text := s.ask(http.MethodGet, "/apis/x.io/v1/things", nil)
	require.Equal(s.t, http.StatusServiceUnavailable, code)
	require.Contains(s.t, text, "service unavailable")
	code, _ = s.ask(http.MethodGet, "/apis/x.io", nil)
	require.Equal(s.t, http.StatusNotFound, code, "discovery does not list the group")
}

func missingBootstrapObjects(s *served) {
	code, text := s.ask(http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", nil)
	require.Equal(s.t, http.StatusOK, code)
	require.Contains(s.t, text, `"items":[]`)
	code, _ = s.ask(http.MethodGet, "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking", nil)
	require.Equal(s.t, http.StatusNotFound, code)
}

func missingAddresses(s *served) {
	lab := labtest.New(s.t, labtest.Options{})
	lab.Apply(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}`)
	lab.Settle()
	found, err := lab.Cluster().List(s.t.Context(), schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}, "", metav1.ListOptions{})
	require.NoError(s.t, err)
	require.Empty(s.t, found.Items)
}

func missingProxy(s *served) {
	s.Apply(pod)
	for path, want := range map[string]string{
		"namespaces/default/pods/p/proxy":         "pods/proxy is not served by an in-memory cluster",
		"namespaces/default/pods/p/proxy/healthz": "pods/proxy is not served by an in-memory cluster",
		"namespaces/default/services/s/proxy":     "services/proxy is not served by an in-memory cluster",
		"nodes/node-1/proxy/configz":              "nodes/proxy/configz is not served by an in-memory cluster: set Kubelet of containers.Options",
		"nodes/node-1/proxy/metrics/resource":     "nodes/proxy/metrics/resource is not served by an in-memory cluster: set Usage of containers.Options",
		"nodes/node-1:9100/proxy/metrics":         "is not a kubelet",
	} {
		code, text := s.ask(http.MethodGet, "/api/v1/"+path, nil)
		require.Equal(s.t, http.StatusBadRequest, code, path)
		require.Contains(s.t, text, want)
	}
}

func missingSimulated(s *served) {
	s.Apply(pod)
	s.WaitCurrent()
	for _, path := range []string{"log", "exec", "attach", "portforward"} {
		code, text := s.ask(http.MethodGet, "/api/v1/namespaces/default/pods/p/"+path, nil)
		require.Equal(s.t, http.StatusNotImplemented, code, path)
		require.Contains(s.t, text, "is not simulated: no process runs in a Pod of an in-memory cluster")
	}
}

func missingConnect(s *served) {
	s.Apply(pod, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec]}]},
  validations: [{expression: "false"}]}}`)
	s.Apply(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}, spec: {policyName: p, validationActions: [Deny]}}`)
	s.WaitCurrent()
	code, _ := s.ask(http.MethodGet, "/api/v1/namespaces/default/pods/p/exec", nil)
	require.Equal(s.t, http.StatusNotImplemented, code, "not 403, as the policy says")
}

func missingResize(s *served) {
	s.Apply(pod)
	for _, path := range []string{"ephemeralcontainers", "resize"} {
		code, text := s.ask(http.MethodGet, "/api/v1/namespaces/default/pods/p/"+path, nil)
		require.Equal(s.t, http.StatusBadRequest, code, path)
		require.Contains(s.t, text, "pods/"+path+" is not served by an in-memory cluster")
	}
}

func missingAuditAnnotations(s *served) {
	s.Apply(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]},
  auditAnnotations: [{key: name, valueExpression: "'made by ' + request.userInfo.username"}]}}`)
	s.Apply(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}, spec: {policyName: p, validationActions: [Audit]}}`)
	s.Apply(pod)
	s.WaitCurrent()
}

func missingMountableSecrets(s *served) {
	s.Apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: strict, namespace: default,
  annotations: {kubernetes.io/enforce-mountable-secrets: "true"}}}`)
	_, err := s.Cluster().Create(context.Background(), object(s.t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default},
  spec: {serviceAccountName: strict, containers: [{name: c, image: i}]}}`), metav1.CreateOptions{})
	require.ErrorContains(s.t, err, "the annotation kubernetes.io/enforce-mountable-secrets of service account strict is not modelled")
}

func missingWebhooks(s *served) {
	lab := labtest.New(s.t, labtest.Options{})
	lab.Apply(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: w.x.io,
  admissionReviewVersions: [v1], sideEffects: None,
  clientConfig: {url: "https://127.0.0.1:1/"}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}]}`)
	lab.Apply(pod) // though the webhook cannot be reached
	lab.Settle()
	require.True(s.t, (&served{Lab: lab}).reports("ValidatingWebhookConfiguration:"), lab.NotModelled())
}

func missingWrongConversions(s *served) {
	lab := labtest.New(s.t, labtest.Options{Convert: func(ctx context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
		for _, obj := range c.Objects {
			obj.SetAPIVersion(c.APIVersion)
			obj.Object["spec"] = map[string]map[string]any{"x.io/v1": {"liters": "many"}, "x.io/v2": {"milliliters": int64(3)}}[c.APIVersion]
		}
		return c.Objects, nil
	}})
	lab.Apply(pots, `{apiVersion: x.io/v2, kind: Pot, metadata: {name: a}, spec: {milliliters: 1}}`)
	_, err := lab.Cluster().Patch(s.t.Context(), schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "Pot"}, types.NamespacedName{Namespace: "default", Name: "a"},
		types.ApplyPatchType, []byte(`{"apiVersion":"x.io/v1","kind":"Pot","spec":{"liters":3}}`), metav1.PatchOptions{FieldManager: "m"})
	require.NoError(s.t, err)
}

func missingDeclaredFeatures(s *served) {
	_, err := s.Cluster().Patch(context.Background(), nodeKind, nodeName, mergePatch, []byte(`{"status":{"declaredFeatures":["A"]}}`), metav1.PatchOptions{}, "status")
	require.NoError(s.t, err)
	s.Settle()
	require.True(s.t, s.reports("Node status.declaredFeatures"), s.NotModelled())
}

func missingLifecycle(s *served) {
	s.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i,
  lifecycle: {postStart: {exec: {command: ["false"]}}}}], volumes: [{name: v, secret: {secretName: missing}}]}}`)
	s.WaitCurrent()
}

func missingNodeAdmission(s *served) {
	s.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node-1, nodeSelector: {disk: ssd},
  containers: [{name: c, image: i, resources: {requests: {cpu: 100000}}}]}}`)
	s.WaitCurrent()
}

func missingInTreeVolumes(s *served) {
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		s.Apply(`{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: ` + node + `,
  annotations: {storage.alpha.kubernetes.io/migrated-plugins: kubernetes.io/aws-ebs}},
  spec: {drivers: [{name: ebs.csi.aws.com, nodeID: "n", topologyKeys: [], allocatable: {count: 0}}]}}`)
	}
	s.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v,
  awsElasticBlockStore: {volumeID: vol-1}}]}}`)
	s.WaitCurrent()
}

const mergePatch = types.MergePatchType

var (
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	nodeName = types.NamespacedName{Name: "node-1"}
)
