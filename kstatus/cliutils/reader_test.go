package cliutils_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/clusterreader"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/statusreaders"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	sigsreader "sigs.k8s.io/cli-utils/pkg/kstatus/polling/clusterreader"
	sigsobject "sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils/upstream"
)

// kinds are those of the tests, with their resources.
var kinds = map[schema.GroupVersionKind]string{
	{Group: "apps", Version: "v1", Kind: "Deployment"}:                "deployments",
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:                "replicasets",
	{Version: "v1", Kind: "Pod"}:                                      "pods",
	{Version: "v1", Kind: "Node"}:                                     "nodes",
	{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}:      "rollouts",
	{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}:    "certificates",
	{Group: "bakery.example.com", Version: "v1", Kind: "Cake"}:        "cakes",
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}:    "storageclasses",
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}: "endpointslices",
}

func mapper() meta.RESTMapper {
	var versions []schema.GroupVersion
	for kind := range kinds {
		versions = append(versions, kind.GroupVersion())
	}
	m := meta.NewDefaultRESTMapper(versions)
	for kind, resource := range kinds {
		scope := meta.RESTScopeNamespace
		if kind.Kind == "Node" || kind.Kind == "StorageClass" {
			scope = meta.RESTScopeRoot
		}
		m.AddSpecific(kind, kind.GroupVersion().WithResource(resource), kind.GroupVersion().WithResource(resource), scope)
	}
	return m
}

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(manifest))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(data))
	obj.SetNamespace("default")
	return obj
}

func cluster(objects ...*unstructured.Unstructured) *fake.FakeDynamicClient {
	lists := map[schema.GroupVersionResource]string{}
	for kind, resource := range kinds {
		lists[kind.GroupVersion().WithResource(resource)] = kind.Kind + "List"
	}
	var all []runtime.Object
	for _, obj := range objects {
		all = append(all, obj)
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, all...)
}

const (
	// https://github.com/helm/helm/issues/32615: the observedGeneration of a Rollout is a text.
	rollout = `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: web, generation: 2}, spec: {replicas: 1},
		status: {observedGeneration: "2", phase: Healthy, replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1,
			conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`
	// https://github.com/helm/helm/issues/32268: a custom resource that no controller has seen yet.
	certificate = `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web, generation: 1}, spec: {secretName: web}}`
	cake        = `{apiVersion: bakery.example.com/v1, kind: Cake, metadata: {name: web}}`
	crashing    = `{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 3,
		state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}]}}`
)

// TestIssuesOfHelm: what its reader says, and ours.
func TestIssuesOfHelm(t *testing.T) {
	for name, c := range map[string]struct {
		manifest         string
		helm, ours       status.Status
		helmErr, message string
	}{
		"32615, a Rollout that is healthy":              {rollout, status.UnknownStatus, status.CurrentStatus, "observedGeneration", ""},
		"32268, a Certificate that nobody has seen yet": {certificate, status.CurrentStatus, status.InProgressStatus, "", ""},
		"a custom kind that nobody has seen yet":        {cake, status.CurrentStatus, status.InProgressStatus, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, c.manifest)
			reader := &clusterreader.DynamicClusterReader{DynamicClient: cluster(obj), Mapper: mapper()}
			id := object.UnstructuredToObjMetadata(obj)
			helm, err := statusreaders.NewStatusReader(mapper()).ReadStatus(t.Context(), reader, id)
			require.NoError(t, err)
			require.Equal(t, c.helm, helm.Status, helm.Message)
			if c.helmErr != "" {
				require.ErrorContains(t, helm.Error, c.helmErr)
			}
			ours, err := statusreaders.NewStatusReader(mapper(), cliutils.NewStatusReader(mapper(), cliutils.Options{})).ReadStatus(t.Context(), reader, id)
			require.NoError(t, err)
			require.Equal(t, c.ours, ours.Status, ours.Message)
			require.NoError(t, ours.Error)
		})
	}
}

const (
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d, generation: 1},
		spec: {replicas: 1, selector: {matchLabels: {app: web}}},
		status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: [{type: Progressing, status: "True"}]}}`
	replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: r, labels: {app: web},
		ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]},
		spec: {replicas: 1, selector: {matchLabels: {app: web}}}, status: {replicas: 1}}`
	child = `{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, uid: p, labels: {app: web},
		ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]},
		status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}}`
)

// TestChildren count, and are in the result.
func TestChildren(t *testing.T) {
	obj := parse(t, deployment)
	c := cluster(obj, parse(t, replicaSet), parse(t, child))
	reader := &clusterreader.DynamicClusterReader{DynamicClient: c, Mapper: mapper()}
	ours, err := cliutils.NewStatusReader(mapper(), cliutils.Options{}).ReadStatusForObject(t.Context(), reader, obj)
	require.NoError(t, err)
	require.Equal(t, status.FailedStatus, ours.Status)
	require.Contains(t, ours.Message, "web-1-a: Container app: no such image")
	require.Equal(t, "default_web-1-a__Pod", ours.GeneratedResources[0].Identifier.String())
	require.Equal(t, "default_web-1_apps_ReplicaSet", ours.GeneratedResources[1].Identifier.String())

	// With the children forbidden, the verdict is that on the object alone.
	c.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "replicasets"}, "", errors.New("no"))
	})
	ours, err = cliutils.NewStatusReader(mapper(), cliutils.Options{}).ReadStatusForObject(t.Context(), reader, obj)
	require.NoError(t, err)
	require.Equal(t, status.InProgressStatus, ours.Status)
	require.ErrorContains(t, ours.Error, "forbidden")
}

func TestOptions(t *testing.T) {
	obj := parse(t, crashing)
	reader := &clusterreader.DynamicClusterReader{DynamicClient: cluster(obj), Mapper: mapper()}
	for name, c := range map[string]struct {
		options cliutils.Options
		want    status.Status
	}{
		"none":                 {cliutils.Options{}, status.FailedStatus},
		"terminal ones only":   {cliutils.Options{TerminalOnly: true}, status.InProgressStatus},
		"the rules of others":  {cliutils.Options{Rules: kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Kind: "Pod"}: fine})}, status.CurrentStatus},
		"another time as well": {cliutils.Options{Now: func() time.Time { return time.Unix(0, 0) }}, status.FailedStatus},
	} {
		got, err := cliutils.NewStatusReader(mapper(), c.options).ReadStatusForObject(t.Context(), reader, obj)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got.Status, name)
	}
	only := cliutils.NewStatusReader(mapper(), cliutils.Options{Supports: func(k schema.GroupKind) bool { return k.Group == "bakery.example.com" }})
	require.True(t, only.Supports(schema.GroupKind{Group: "bakery.example.com", Kind: "Cake"}))
	require.False(t, only.Supports(schema.GroupKind{Kind: "Pod"}))
}

func fine(kstatus.Object) (kstatus.Result, bool) { return kstatus.Current.Because("", "fine"), true }

// TestLookUps that fail are verdicts, except for the end of the context.
func TestLookUps(t *testing.T) {
	r := cliutils.NewStatusReader(mapper(), cliutils.Options{})
	reader := &clusterreader.DynamicClusterReader{DynamicClient: cluster(), Mapper: mapper()}
	pod := object.ObjMetadata{Namespace: "default", Name: "a", GroupKind: schema.GroupKind{Kind: "Pod"}}
	got, err := r.ReadStatus(t.Context(), reader, pod)
	require.NoError(t, err)
	require.Equal(t, status.NotFoundStatus, got.Status)

	got, err = r.ReadStatus(t.Context(), reader, object.ObjMetadata{Namespace: "default", Name: "a", GroupKind: schema.GroupKind{Group: "x.com", Kind: "X"}})
	require.NoError(t, err)
	require.Equal(t, status.UnknownStatus, got.Status)
	require.True(t, meta.IsNoMatchError(got.Error))

	_, err = r.ReadStatus(t.Context(), ended{}, pod)
	require.ErrorIs(t, err, context.Canceled)
}

type ended struct{ engine.ClusterReader }

func (ended) Get(context.Context, client.ObjectKey, *unstructured.Unstructured) error {
	return context.Canceled
}

// TestUpstream: the reader for sigs.k8s.io/cli-utils says the same.
func TestUpstream(t *testing.T) {
	for _, manifest := range []string{rollout, certificate, crashing, deployment} {
		obj := parse(t, manifest)
		c := cluster(obj, parse(t, replicaSet), parse(t, child))
		ours, err := cliutils.NewStatusReader(mapper(), cliutils.Options{}).ReadStatus(t.Context(),
			&clusterreader.DynamicClusterReader{DynamicClient: c, Mapper: mapper()}, object.UnstructuredToObjMetadata(obj))
		require.NoError(t, err)
		sigs, err := upstream.NewStatusReader(mapper(), cliutils.Options{}).ReadStatus(t.Context(),
			&sigsreader.DynamicClusterReader{DynamicClient: c, Mapper: mapper()}, sigsobject.UnstructuredToObjMetadata(obj))
		require.NoError(t, err)
		require.Equal(t, string(ours.Status), string(sigs.Status))
		require.Equal(t, ours.Message, sigs.Message)
		require.Equal(t, ours.Resource, sigs.Resource)
		require.Len(t, sigs.GeneratedResources, len(ours.GeneratedResources))
	}
}
