package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// storedObjects are the objects in testdata/stored.
func storedObjects(t *testing.T) (objects []*unstructured.Unstructured) {
	files, err := filepath.Glob("testdata/stored/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		data = bytes.ReplaceAll(data, []byte("REQUEST"), []byte(base64.StdEncoding.EncodeToString([]byte(certificateRequest(t)))))
		for _, doc := range strings.Split(string(data), "\n---\n") {
			obj := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON([]byte(doc))
			require.NoError(t, err, doc)
			require.NoError(t, obj.UnmarshalJSON(text), doc)
			objects = append(objects, obj)
		}
	}
	return objects
}

// newMemoryServer returns a client of a cluster in memory behind the server, as strict as a lab. It is bare, because the
// kube-apiserver that it is compared with has no controllers, which write the status of policies.
func newMemoryServer(t *testing.T) *kube.Cluster {
	c := memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true})
	c.Extend(admission.Hooks())
	cluster, err := kube.NewForConfig(apiserver.Start(t, c, apiserver.Options{Bare: true}))
	require.NoError(t, err)
	return cluster
}

// TestStoredObjects creates objects of each built-in kind on a kube-apiserver and on the server in
// memory, and compares the stored objects.
func TestStoredObjects(t *testing.T) {
	theirs, ours := newCluster(t), newMemoryServer(t)
	isNamespaced := map[string]bool{}
	for _, k := range memory.New(memory.Options{}).Kinds() {
		isNamespaced[k.GroupVersionKind.String()] = !k.ClusterScoped
	}
	for _, cluster := range []*kube.Cluster{theirs, ours} {
		createNamespace(t, cluster, "stored")
	}
	copyClasses(t, theirs, ours)
	met := map[string]int{}
	for _, obj := range storedObjects(t) {
		met[obj.GroupVersionKind().String()]++
		if isNamespaced[obj.GroupVersionKind().String()] {
			obj.SetNamespace("stored")
		}
		t.Run(obj.GetKind()+" "+obj.GetName(), func(t *testing.T) {
			want, err := theirs.Create(t.Context(), obj.DeepCopy(), metav1.CreateOptions{})
			require.NoError(t, err)
			t.Cleanup(func() { // other tests look at all objects of the server
				name := types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()}
				require.NoError(t, theirs.Delete(context.Background(), want.GroupVersionKind(), name, metav1.DeleteOptions{}))
			})
			got, err := ours.Create(t.Context(), obj.DeepCopy(), metav1.CreateOptions{})
			require.NoError(t, err)
			diff := cmp.Diff(maskedObject(t, want), maskedObject(t, got))
			if reason := storedDifferently[obj.GetKind()]; reason != "" && obj.GetFinalizers() == nil {
				require.NotEmpty(t, diff, "it is stored the same; the table says: %s", reason)
				return
			}
			require.Empty(t, diff, "-theirs +ours")
		})
	}
	for kind := range isNamespaced {
		isLeftOut := slices.ContainsFunc([]string{"CustomResourceDefinition", "APIService", "ResourceSlice", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}, func(k string) bool { return strings.HasSuffix(kind, "Kind="+k) })
		require.True(t, met[kind] >= 3 || isLeftOut, "testdata/stored has %d objects of %s: fewer than a minimal, a typical and a full one", met[kind], kind)
	}
}

// copyClasses gives a cluster the classes of another cluster, whose values are defaults of new
// objects.
func copyClasses(t *testing.T, from, to *kube.Cluster) {
	for _, kind := range []schema.GroupVersionKind{{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, {Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}} {
		list, err := from.List(t.Context(), kind, "", metav1.ListOptions{})
		require.NoError(t, err)
		for _, class := range list.Items {
			class.SetResourceVersion("")
			_, err := to.Create(t.Context(), &class, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
}

// storedDifferently are the kinds that are stored differently, and why.
var storedDifferently = map[string]string{
	"CertificateSigningRequest": "the user of the server is another one",
	"CSIDriver":                 "metadata.generation counts from the creation on, there from the first change",
	"VolumeAttributesClass":     "a plugin of the server adds a finalizer, which kube-controller-manager takes away",
	"CSINode":                   "the Go types of this module are of a later version, in which a status is always there",
}

var (
	// 10.77 and 10.96 to 10.111 are of ServiceCIDRs in testdata/stored, from which a kube-apiserver allocates while they are there.
	addresses = regexp.MustCompile(`"10\.(0|77|9[6-9]|10\d|11[01])\.\d+\.\d+"`)
	someports = regexp.MustCompile(`"healthCheckNodePort":\d+`)
	times     = regexp.MustCompile(`"(lastPhaseTransitionTime|lastTransitionTime)":"[^"]*"`)
)

// maskedObject returns an object without the fields that differ between servers.
func maskedObject(t *testing.T, obj *unstructured.Unstructured) any {
	obj = obj.DeepCopy()
	uid := string(obj.GetUID())
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(obj.Object["metadata"].(map[string]any), field)
	}
	text, err := json.Marshal(obj.Object)
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte(uid), []byte("UID"))
	text = addresses.ReplaceAll(text, []byte(`"ADDRESS"`))
	text = someports.ReplaceAll(text, []byte(`"healthCheckNodePort":30000`))
	text = times.ReplaceAll(text, []byte(`"$1":"TIME"`))
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	return withoutNulls(v)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if v[name] = withoutNulls(e); e == nil {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// certificateRequest is a request for a certificate.
func certificateRequest(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "me"}}, key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}
