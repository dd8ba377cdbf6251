package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	hub "sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A tank is a Tank in its older version, in liters.
type tank struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Liters int64 `json:"liters"`
	} `json:"spec"`
}

func (t *tank) DeepCopyObject() runtime.Object { return copied(t, &tank{}) }

func (t *tank) ConvertTo(dst hub.Hub) error {
	to := dst.(*storedTank)
	to.ObjectMeta, to.Spec.Milliliters = t.ObjectMeta, t.Spec.Liters*1000
	return nil
}

func (t *tank) ConvertFrom(src hub.Hub) error {
	from := src.(*storedTank)
	t.ObjectMeta, t.Spec.Liters = from.ObjectMeta, from.Spec.Milliliters/1000
	return nil
}

// A storedTank is a Tank in the version to which others are converted.
type storedTank struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Milliliters int64 `json:"milliliters"`
	} `json:"spec"`
}

func (t *storedTank) DeepCopyObject() runtime.Object { return copied(t, &storedTank{}) }

func (t *storedTank) Hub() {}

func copied[T runtime.Object](from, to T) T {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(err)
	}
	return to
}

// tanks is a definition as controller-gen writes it: without a conversion.
const tanks = `
metadata: {name: tanks.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {plural: tanks, singular: tank, kind: Tank, listKind: TankList}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {liters: {type: integer}}}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {milliliters: {type: integer}}}}}}}
`

// TestConversionOfEnvtest checks what operators with two versions do in their suites: envtest installs the
// conversion webhook of each kind with a Hub in the scheme, and controller-runtime serves it over TLS.
func TestConversionOfEnvtest(t *testing.T) {
	listener, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	scheme := runtime.NewScheme()
	for version, obj := range map[string]runtime.Object{"v1": &tank{}, "v2": &storedTank{}} {
		gv := schema.GroupVersion{Group: "x.io", Version: version}
		scheme.AddKnownTypeWithName(gv.WithKind("Tank"), obj)
		metav1.AddToGroupVersion(scheme, gv)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(tanks), crd))
	existing := true
	env := &envtest.Environment{UseExistingCluster: &existing, Config: listener.Config(), CRDInstallOptions: envtest.CRDInstallOptions{Scheme: scheme, CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}}
	config, err := env.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, env.Stop()) }()

	ctx, cancel := context.WithCancel(t.Context())
	o := env.WebhookInstallOptions
	server := webhook.NewServer(webhook.Options{Host: o.LocalServingHost, Port: o.LocalServingPort, CertDir: o.LocalServingCertDir})
	server.Register("/convert", conversion.NewWebhookHandler(scheme, conversion.NewRegistry()))
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	made := &tank{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	made.Spec.Liters = 3
	require.Eventually(t, func() bool { return server.StartedChecker()(nil) == nil }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, c.Create(ctx, made))
	stored := &storedTank{}
	require.NoError(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, stored))
	require.EqualValues(t, 3000, stored.Spec.Milliliters)
	stored.Spec.Milliliters = 5000
	require.NoError(t, c.Update(ctx, stored))
	require.NoError(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, made))
	require.EqualValues(t, 5, made.Spec.Liters, fmt.Sprint(made))
}
