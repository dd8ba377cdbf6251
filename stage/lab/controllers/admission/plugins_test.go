package admission_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func withPlugins(t *testing.T, objects ...string) *memory.Cluster {
	c := memory.New(memory.Options{})
	c.Extend(admission.Plugins())
	for _, text := range objects {
		require.NoError(t, c.Load(t.Context(), []byte(text)))
	}
	return c
}

const gvisor = `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: gvisor}, handler: runsc, overhead: {podFixed: {cpu: 250m}},
  scheduling: {nodeSelector: {runtime: gvisor}, tolerations: [{key: gvisor, operator: Exists}, {key: a, operator: Equal, value: b}]}}`

// TestRuntimeClasses checks what a Pod has from its RuntimeClass, and which Pods are refused.
func TestRuntimeClasses(t *testing.T) {
	c := withPlugins(t, gvisor, `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: runc}, handler: runc}`)
	pod, err := create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {runtimeClassName: gvisor, nodeSelector: {zone: a},
  tolerations: [{key: gvisor, operator: Equal, value: x}, {key: a, operator: Equal, value: b}], containers: [{name: c, image: i}]}}`)
	require.NoError(t, err)
	spec := pod.Object["spec"].(map[string]any)
	require.Equal(t, map[string]any{"cpu": "250m"}, spec["overhead"])
	require.Equal(t, map[string]any{"zone": "a", "runtime": "gvisor"}, spec["nodeSelector"])
	require.Equal(t, []any{
		map[string]any{"key": "a", "operator": "Equal", "value": "b"}, map[string]any{"key": "gvisor", "operator": "Exists"},
	}, spec["tolerations"], "gvisor with any value includes the first one")

	for text, want := range map[string]string{
		`runtimeClassName: none`:                                     `pods "x" is forbidden: pod rejected: RuntimeClass "none" not found`,
		`runtimeClassName: gvisor, overhead: {cpu: 1}`:               "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
		`runtimeClassName: runc, overhead: {cpu: 1}`:                 "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
		`overhead: {cpu: 1}`:                                         "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
		`runtimeClassName: gvisor, nodeSelector: {runtime: another}`: "conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; pod.spec.nodeSelector[runtime] = another",
	} {
		_, err := create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {`+text+`, containers: [{name: c, image: i}]}}`)
		require.True(t, apierrors.IsForbidden(err), text)
		require.ErrorContains(t, err, want)
	}
	_, err = create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: same}, spec: {runtimeClassName: gvisor, overhead: {cpu: "0.25"}, containers: [{name: c, image: i}]}}`)
	require.NoError(t, err)
}

// TestTopologyOfPods checks that a Pod has the zone and the region of its Node, also after a Binding.
func TestTopologyOfPods(t *testing.T) {
	c := withPlugins(t, `{apiVersion: v1, kind: Node, metadata: {name: node, labels: {topology.kubernetes.io/zone: z, topology.kubernetes.io/region: r, other: o}}}`)
	bound, err := create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {topology.kubernetes.io/zone: wrong}},
  spec: {nodeName: node, containers: [{name: c, image: i}]}}`)
	require.NoError(t, err)
	want := map[string]string{"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
	require.Equal(t, want, bound.GetLabels())
	waiting, err := create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}}`)
	require.NoError(t, err)
	require.Empty(t, waiting.GetLabels())
	name := types.NamespacedName{Namespace: "default", Name: "b"}
	binding := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Binding", "target": map[string]any{"kind": "Node", "name": "node"}}}
	require.NoError(t, c.Bind(t.Context(), name, binding, metav1.CreateOptions{}))
	stored, err := c.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, name)
	require.NoError(t, err)
	require.Equal(t, want, stored.GetLabels())
}

// TestClaimsThatGrow checks which claims may ask for more than before.
func TestClaimsThatGrow(t *testing.T) {
	c := withPlugins(t, `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: grows}, provisioner: x.io/p, allowVolumeExpansion: true}`,
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fixed}, provisioner: x.io/p}`)
	grow := func(name, size string) error {
		_, err := c.Patch(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, types.NamespacedName{Namespace: "default", Name: name},
			types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`), metav1.PatchOptions{})
		return err
	}
	for _, class := range []string{"grows", "fixed", "none"} {
		require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: `+class+`, namespace: default},
  spec: {storageClassName: `+class+`, resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}`)))
	}
	require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: pending, namespace: default},
  spec: {storageClassName: grows, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}`)))
	require.NoError(t, grow("grows", "2Gi"))
	require.NoError(t, grow("fixed", "1Gi"))
	require.ErrorContains(t, grow("pending", "2Gi"), `persistentvolumeclaims "pending" is forbidden: Only bound persistent volume claims can be expanded`)
	for _, class := range []string{"fixed", "none"} {
		err := grow(class, "2Gi")
		require.True(t, apierrors.IsForbidden(err))
		require.ErrorContains(t, err, "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
	}
}

// TestSubjectsOfCertificates checks that a request for the certificate of an administrator is refused.
func TestSubjectsOfCertificates(t *testing.T) {
	c := withPlugins(t)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ask := func(name, signer string, groups ...string) error {
		data, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: groups}}, key)
		require.NoError(t, err)
		text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: data}))
		_, err = create(t, c, `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: `+name+`},
  spec: {signerName: `+signer+`, request: `+text+`, usages: [client auth]}}`)
		return err
	}
	const clients = "kubernetes.io/kube-apiserver-client"
	require.NoError(t, ask("a", clients, "developers"))
	require.NoError(t, ask("b", "example.com/signer", "system:masters"))
	err = ask("c", clients, "developers", "system:masters")
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed")
}
