package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestMetricsOfTheServer checks that requests are counted by what they ask for and their code, and that
// a parser of Prometheus reads the answers.
func TestMetricsOfTheServer(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	maps := c.CoreV1().ConfigMaps("default")
	for range 2 {
		_, err := maps.Get(t.Context(), "missing", metav1.GetOptions{})
		require.Error(t, err)
	}
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	_, err = maps.Patch(t.Context(), "b", types.ApplyPatchType, []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}`), metav1.PatchOptions{FieldManager: "m"})
	require.NoError(t, err)
	_, err = c.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = c.CoreV1().RESTClient().Get().AbsPath("/apis/unknown.io/v1/things").DoRaw(t.Context())
	require.Error(t, err)

	read := func(path string) string {
		data, err := c.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		require.NoError(t, err)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		_, err = parser.TextToMetricFamilies(strings.NewReader(string(data)))
		require.NoError(t, err)
		return string(data)
	}
	text := read("/metrics")
	for _, line := range []string{
		`apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 2`,
		`apiserver_request_total{code="201",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="APPLY",version="v1"} 1`,
		`apiserver_request_total{code="200",component="apiserver",dry_run="",group="apps",resource="deployments",scope="cluster",subresource="",verb="LIST",version="v1"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Contains(t, text, "apiserver_validation_declarative_validation_mismatch_total 0\n")
	require.NotContains(t, text, "unknown.io")
	require.Contains(t, read("/metrics/slis"), `kubernetes_healthcheck{name="etcd",type="readyz"} 1`)
}

// TestIssuerOfTokens checks that the published key verifies a token of a ServiceAccount.
func TestIssuerOfTokens(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	read := func(path string, into any) {
		data, err := c.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
	}
	var issuer struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	read("/.well-known/openid-configuration", &issuer)
	require.Equal(t, "https://kubernetes.default.svc.cluster.local", issuer.Issuer)
	require.True(t, strings.HasSuffix(issuer.Keys, "/openid/v1/jwks"), issuer.Keys)
	var keys struct {
		Keys []struct{ Kid, Kty, Alg, X, Y string } `json:"keys"`
	}
	read("/openid/v1/jwks", &keys)
	require.Len(t, keys.Keys, 1)

	made, err := c.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	parts := strings.Split(made.Status.Token, ".")
	number := func(text string) *big.Int {
		data, err := base64.RawURLEncoding.DecodeString(text)
		require.NoError(t, err)
		return new(big.Int).SetBytes(data)
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	require.NoError(t, err)
	require.Contains(t, string(header), keys.Keys[0].Kid)
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	require.NoError(t, err)
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	public := &ecdsa.PublicKey{Curve: elliptic.P256(), X: number(keys.Keys[0].X), Y: number(keys.Keys[0].Y)}
	require.True(t, ecdsa.Verify(public, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])))
}

// TestBookmarkOfATable checks that the bookmark which ends the initial events arrives in a Table, with its
// annotation.
func TestBookmarkOfATable(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{Bare: true}))
	for _, include := range []string{"None", "Metadata"} {
		data, err := c.CoreV1().RESTClient().Get().Namespace("default").Resource("secrets").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
			Param("watch", "true").Param("sendInitialEvents", "true").Param("allowWatchBookmarks", "true").Param("resourceVersionMatch", "NotOlderThan").
			Param("timeoutSeconds", "1").Param("includeObject", include).DoRaw(t.Context())
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(data), "\n")
		var event struct {
			Type   string       `json:"type"`
			Object metav1.Table `json:"object"`
		}
		require.NoError(t, json.Unmarshal([]byte(first), &event))
		require.Equal(t, "BOOKMARK", event.Type)
		require.Len(t, event.Object.Rows, 1)
		require.Contains(t, string(event.Object.Rows[0].Object.Raw), `"k8s.io/initial-events-end":"true"`, include)
	}
}
