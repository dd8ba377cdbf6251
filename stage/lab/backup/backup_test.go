package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/backup"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	thing     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
)

var moment = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const manifest = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
  x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 3, ratio: 0.5, born: 2020-01-01T00:00:00Z, flag: "yes", none: null}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data": {"key": "c2VjcmV0"}}',
  other: kept}}, data: {key: c2VjcmV0}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [example.com/hold]}, data: {text: "a\nb"}}`

func cluster(t *testing.T) *memory.Cluster {
	c := memory.New(memory.Options{Now: func() time.Time { return moment }})
	c.TrackFields()
	require.NoError(t, c.Load(t.Context(), []byte(manifest)))
	return c
}

// written is the text of a Backup in its own format.
func written(t *testing.T, b *backup.Backup) string {
	var out bytes.Buffer
	require.NoError(t, b.Write(&out))
	return out.String()
}

// kubectl returns the objects of a cluster as kubectl get prints them, a List in each format.
func kubectl(t *testing.T, c *memory.Cluster) map[string][]byte {
	var items []any
	for obj := range c.All() {
		items = append(items, obj.Object)
	}
	asJSON, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "items": items, "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}, "", "    ")
	require.NoError(t, err)
	asYAML, err := yaml.JSONToYAML(asJSON)
	require.NoError(t, err)
	return map[string][]byte{"all.json": asJSON, "all.yaml": asYAML}
}

func TestABackupComesBack(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.Delete(t.Context(), configMap, types.NamespacedName{Namespace: "default", Name: "c"}, metav1.DeleteOptions{}))
	text := written(t, backup.Of(c))
	require.Regexp(t, `^{"apiVersion":"stagecraft-go.github.io/v1","kind":"Backup","objects":4,"resourceVersion":"6","time":"2026-01-02T03:04:05Z"}\n`, text)
	require.Contains(t, text, `"deletionTimestamp":"2026-01-02T03:04:05Z"`)

	b, err := backup.Read("c.jsonl", strings.NewReader(text), backup.Options{})
	require.NoError(t, err)
	require.Equal(t, moment, b.Time)
	again, err := b.Cluster(memory.Options{})
	require.NoError(t, err)
	require.Equal(t, text, written(t, backup.Of(again)))
	require.Equal(t, moment, again.Now())
}

func TestWhatKubectlPrintsIsRead(t *testing.T) {
	c := cluster(t)
	want := written(t, backup.Of(c))
	for name, data := range kubectl(t, c) {
		b, err := backup.Read(name, bytes.NewReader(data), backup.Options{})
		require.NoError(t, err, name)
		require.Empty(t, b.Omissions)
		require.Equal(t, moment, b.Time, "the latest creation")
		b.ResourceVersion = "5"
		require.Equal(t, want, written(t, b), name)
	}
}

// TestSeveralFilesAreOneBackup reads objects that are in two files, an older state of an object, and
// an object that the API has in two groups.
func TestSeveralFilesAreOneBackup(t *testing.T) {
	event := func(group string) string {
		return `{"apiVersion": "` + group + `", "kind": "Event", "metadata": {"name": "e", "namespace": "default", "uid": "u2", "resourceVersion": "9"}}`
	}
	config := func(version, value string) string {
		return `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default", "uid": "u1", "resourceVersion": "` + version + `"}, "data": {"v": "` + value + `"}}`
	}
	dir := t.TempDir()
	var paths []string
	for i, text := range []string{config("8", "older"), event("events.k8s.io/v1") + config("12", "newer") + event("v1"), config("11", "older")} {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i, ".json")))
		require.NoError(t, os.WriteFile(paths[i], []byte(text), 0o600))
	}
	b, err := backup.ReadFiles(backup.Options{}, paths...)
	require.NoError(t, err)
	require.Empty(t, b.Omissions)
	require.Len(t, b.Objects, 2)
	require.Equal(t, map[string]any{"v": "newer"}, b.Objects[0].Object["data"])
	require.Equal(t, "v1", b.Objects[1].GetAPIVersion())
	_, err = backup.ReadFiles(backup.Options{}, filepath.Join(dir, "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOmissions(t *testing.T) {
	const text = `{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [
  {"metadata": {"name": "web", "namespace": "default"}, "usage": {}}]}
{"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "a", "namespace": "default", "uid": "u1", "resourceVersion": "1"}}
{"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "h", "namespace": "default", "uid": "u2", "resourceVersion": "2"}}
{"kind": "Thing", "apiVersion": "example.com/v1", "metadata": {"name": "t", "namespace": "default", "uid": "u3", "resourceVersion": "3"}}`
	b, err := backup.Read("all.json", strings.NewReader(text), backup.Options{Kinds: []memory.Kind{{GroupVersionKind: thing}}})
	require.NoError(t, err)
	require.Len(t, b.Objects, 1)
	var lines []string
	for _, o := range b.Omissions {
		lines = append(lines, o.String())
	}
	require.Equal(t, []string{
		"all.json:2:3: PodMetrics default/web: left out: metrics.k8s.io/v1beta1 has no kind PodMetrics here, and no CustomResourceDefinition of it was read",
		"all.json:3:1: Widget default/a: left out: example.com/v1 has no kind Widget here, and no CustomResourceDefinition of it was read",
		"all.json:4:1: HorizontalPodAutoscaler default/h: left out: HorizontalPodAutoscaler is here in autoscaling/v2, not in autoscaling/v1; ask kubectl for this version: kubectl get horizontalpodautoscaler.v2.autoscaling",
	}, lines)
}

func TestFaultsHavePlaces(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a.json", "{\"kind\": \"Pod\",\n  \"apiVersion\": \"v1\", \"metadata\": {}}\n{\"kind\": \"Pod\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"p\"}}",
			"a.json:1:1: Pod: no metadata.name\na.json:3:1: Pod p: no metadata.uid: it was not read from a cluster; give a manifest to Apply"},
		{"b.json", "{\"kind\": \"List\", \"items\": [\n  {\"kind\": \"Pod\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"p\", \"uid\": \"u\"}},\n  7]}",
			"b.json:2:3: Pod p: no metadata.resourceVersion: it was not read from a cluster; give a manifest to Apply\nb.json:3:3: json: cannot unmarshal number into Go value of type map[string]interface {}"},
		{"c.json", "{\"kind\": \"Pod\",\n  \"x}", "c.json:2:6: unexpected EOF"},
		{"d.yaml", "kind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n",
			"d.yaml:3:3: Pod p: no metadata.uid: it was not read from a cluster; give a manifest to Apply"},
		{"e.yaml", "a: &x {b: c}\nd: *x\n", "e.yaml:2:4: an alias: kubectl prints none, and this reader takes none"},
		{"f.yaml", "a: b: c\n", "f.yaml: yaml: mapping values are not allowed in this context"},
		{"g.yaml", "- 1\n", "g.yaml:1:1: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into map[string]interface {}"},
		{"h.yaml", "# nothing\n", "h.yaml: no objects"},
		{"i.json", "{\"apiVersion\": \"stagecraft-go.github.io/v7\", \"kind\": \"Backup\"}", "i.json:1:1: a Backup of stagecraft-go.github.io/v7; this version reads stagecraft-go.github.io/v1"},
	} {
		_, err := backup.Read(test.name, strings.NewReader(test.text), backup.Options{})
		require.EqualError(t, err, test.want, test.name)
	}
}

func TestAFileThatIsCutOffIsRefused(t *testing.T) {
	text := written(t, backup.Of(cluster(t)))
	lines := strings.SplitAfter(text, "\n")
	_, err := backup.Read("c.jsonl", strings.NewReader(strings.Join(lines[:3], "")), backup.Options{})
	require.EqualError(t, err, "c.jsonl: the file is cut off: 2 objects are missing")
	for n := range len(text) - 1 {
		_, err := backup.Read("c.jsonl", strings.NewReader(text[:n]), backup.Options{})
		require.Error(t, err, "the first %d bytes", n)
	}
	_, err = backup.Read("c.jsonl", failing{}, backup.Options{})
	require.EqualError(t, err, "the disk is gone")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestSecretsCanBeBlanked(t *testing.T) {
	for name, data := range kubectl(t, cluster(t)) {
		b, err := backup.Read(name, bytes.NewReader(data), backup.Options{BlankSecrets: true})
		require.NoError(t, err)
		text := written(t, b)
		require.NotContains(t, text, "c2VjcmV0")
		require.Contains(t, text, `"data":{"key":""}`)
		require.Contains(t, text, `"annotations":{"other":"kept"}`)
	}
}

func TestWriteErrorsAreReported(t *testing.T) {
	require.EqualError(t, backup.Of(cluster(t)).Write(full{}), "the disk is full")
	b := &backup.Backup{Objects: []*unstructured.Unstructured{{Object: map[string]any{"a": make(chan int)}}}}
	require.Error(t, b.Write(&bytes.Buffer{}))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func FuzzRead(f *testing.F) {
	c := memory.New(memory.Options{Now: func() time.Time { return moment }})
	if err := c.Load(context.Background(), []byte(manifest)); err != nil {
		f.Fatal(err)
	}
	var own bytes.Buffer
	if err := backup.Of(c).Write(&own); err != nil {
		f.Fatal(err)
	}
	f.Add(own.Bytes())
	f.Add([]byte("kind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: d, uid: u, resourceVersion: '4'}}\n"))
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"d","uid":"u","resourceVersion":"4"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := backup.Read("x", bytes.NewReader(data), backup.Options{})
		if err != nil {
			return
		}
		again, err := b.Cluster(memory.Options{})
		if err != nil {
			return
		}
		first := written(t, backup.Of(again))
		second, err := backup.Read("y", strings.NewReader(first), backup.Options{})
		require.NoError(t, err)
		require.Equal(t, first, written(t, second))
	})
}

// TestAClusterIsRead reads a cluster page by page, whose user is not allowed to list Secrets.
func TestAClusterIsRead(t *testing.T) {
	c := cluster(t)
	for i := range 1200 {
		require.NoError(t, c.Load(t.Context(), fmt.Appendf(nil, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i)))
	}
	b, err := backup.From(t.Context(), lister{c, nil}, backup.Options{})
	require.NoError(t, err)
	require.Len(t, b.Objects, 1203)
	require.Len(t, b.Omissions, 1)
	require.Equal(t, `Secret: left out: secrets is forbidden: not for you`, b.Omissions[0].String())
	_, err = b.Cluster(memory.Options{})
	require.NoError(t, err)

	_, err = backup.From(t.Context(), lister{c, errors.New("the network is gone")}, backup.Options{})
	require.EqualError(t, err, "backup: ConfigMap: the network is gone")
}

// A lister is a cluster with faults.
type lister struct {
	*memory.Cluster
	err error // for ConfigMaps
}

func (l lister) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	switch {
	case kind.Kind == "Secret":
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("not for you"))
	case kind == configMap && l.err != nil:
		return nil, l.err
	}
	return l.Cluster.List(ctx, kind, namespace, o)
}
