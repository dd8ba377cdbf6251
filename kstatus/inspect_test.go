package kstatus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

var errDown = errors.New("the server is down")

// shelf is a Reader of a few objects. It hands them out one a page.
type shelf struct {
	objects []unstructured.Unstructured
	down    string // a kind that cannot be read
}

func (s shelf) Get(_ context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	for i := range s.objects {
		if o := &s.objects[i]; o.GroupVersionKind() == kind && o.GetName() == name.Name && o.GetNamespace() == name.Namespace && kind.Kind != s.down {
			return o, nil
		}
	}
	return nil, errDown
}

func (s shelf) List(_ context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil || kind.Kind == s.down {
		return nil, errors.Join(err, errDown)
	}
	page := &unstructured.UnstructuredList{Object: map[string]any{}}
	skip := len(o.Continue)
	for i := range s.objects {
		obj := &s.objects[i]
		if obj.GroupVersionKind() != kind || obj.GetNamespace() != namespace || !selector.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if len(page.Items) == 1 {
			page.SetContinue(o.Continue + "x")
			break
		}
		page.Items = append(page.Items, *obj)
	}
	return page, nil
}

// stored is an object in namespace shop with the label app=web; its uid is its name, its owner is
// given as kind/name.
func stored(version, kind, name, owner, rest string) unstructured.Unstructured {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  uid: %s\n  labels: {app: web}\n", version, kind, name, name)
	if kind != "StorageClass" {
		text += "  namespace: shop\n"
	}
	if ownerKind, ownerName, owned := strings.Cut(owner, "/"); owned {
		text += fmt.Sprintf("  ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]\n", versions[ownerKind], ownerKind, ownerName, ownerName)
	}
	obj := unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text+rest), &obj.Object); err != nil {
		panic(err)
	}
	return obj
}

var versions = map[string]string{"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "Service": "v1"}

func storedPod(name, owner, meta, status string) unstructured.Unstructured {
	return stored("v1", "Pod", name, owner, "  "+meta+"\nstatus: "+status)
}

const (
	crashing = "{phase: Running, conditions: [], containerStatuses: [{name: app, restartCount: 20, state: {waiting: {reason: CrashLoopBackOff}}}]}"
	starting = "{phase: Running, conditions: []}"
	selects  = "spec: {replicas: 2, selector: {matchLabels: {app: web}}}\n"
)

// An inspection is an object, what else there is, and the verdict on it.
type inspection struct {
	name     string
	obj      unstructured.Unstructured
	others   []unstructured.Unstructured
	down     string
	standard string
	extended string // part of the verdict; "": children do not change the status
	children string
}

var (
	deployment  = stored("apps/v1", "Deployment", "web", "", "  annotations: {deployment.kubernetes.io/revision: '10'}\n"+selects+"status: {replicas: 1}")
	unnumbered  = stored("apps/v1", "Deployment", "web", "", selects+"status: {replicas: 1}")
	unobserved  = stored("apps/v1", "Deployment", "web", "", "  generation: 2\n"+selects+"status: {observedGeneration: 1}")
	oldSet      = stored("apps/v1", "ReplicaSet", "web-9", "Deployment/web", "  annotations: {deployment.kubernetes.io/revision: '9'}\n"+selects)
	newSet      = stored("apps/v1", "ReplicaSet", "web-10", "Deployment/web", "  annotations: {deployment.kubernetes.io/revision: '10'}\n"+selects)
	sets        = []unstructured.Unstructured{oldSet, newSet}
	statefulSet = stored("apps/v1", "StatefulSet", "db", "", selects+"status: {updateRevision: b}")
	daemonSet   = stored("apps/v1", "DaemonSet", "agent", "", "  generation: 3\n  annotations: {deprecated.daemonset.template.generation: '3'}\n"+selects+"status: {observedGeneration: 3}")
	claim       = "spec: {storageClassName: local}\nstatus: {phase: Pending}"
	late        = stored("storage.k8s.io/v1", "StorageClass", "local", "", "volumeBindingMode: WaitForFirstConsumer")
)

// revisions are about which children count.
func revisions() []inspection {
	return []inspection{
		{
			name: "a Deployment with nothing yet", obj: deployment,
			standard: "InProgress LessReplicas: Replicas: 1/2",
		}, {
			name: "Pods of an old revision do not count", obj: deployment,
			others:   append(sets, storedPod("old", "ReplicaSet/web-9", "", crashing)),
			standard: "InProgress LessReplicas: Replicas: 1/2", children: "web-10",
		}, {
			name: "without revision on the Deployment the greatest number is the newest", obj: unnumbered,
			others:   append(sets, storedPod("old", "ReplicaSet/web-9", "", crashing), storedPod("new", "ReplicaSet/web-10", "", starting)),
			standard: "InProgress LessReplicas: Replicas: 1/2", children: "new web-10",
		}, {
			name: "a Deployment is explained by its worst Pod", obj: deployment,
			others:   append(sets, storedPod("a", "ReplicaSet/web-10", "", starting), storedPod("b", "ReplicaSet/web-10", "", crashing)),
			standard: "InProgress LessReplicas: Replicas: 1/2", children: "a b web-10",
			extended: "Failed PodsFailed: b: ",
		}, {
			name: "a new generation is not judged by the Pods of the last one", obj: unobserved,
			others:   append(sets, storedPod("new", "ReplicaSet/web-10", "", crashing)),
			standard: "InProgress LatestGenerationNotObserved: Deployment generation is 2, but latest observed generation is 1", children: "new web-10",
		}, {
			name: "Pods of others do not count, whatever their labels", obj: newSet,
			others:   []unstructured.Unstructured{storedPod("theirs", "ReplicaSet/other", "", crashing), storedPod("nobodys", "", "", crashing)},
			standard: "InProgress LessLabelled: Labelled: 0/2",
		},
	}
}

// verdicts are about what children change.
func verdicts() []inspection {
	return []inspection{
		{
			name: "a failed Pod fails its ReplicaSet", obj: newSet,
			others:   []unstructured.Unstructured{storedPod("a", "ReplicaSet/web-10", "", starting), storedPod("b", "ReplicaSet/web-10", "", crashing)},
			standard: "Failed PodsFailed: 1 pods have failed", children: "a b",
			extended: "Failed PodsFailed: b: ",
		}, {
			name: "a Pod that is on its way out fails nobody in Extended", obj: newSet,
			others:   []unstructured.Unstructured{storedPod("a", "ReplicaSet/web-10", "deletionTimestamp: '2026-01-01T00:00:00Z'", crashing)},
			standard: "InProgress LessLabelled: Labelled: 0/2", children: "a",
		}, {
			name: "a StatefulSet is judged by the Pods of its update revision", obj: statefulSet,
			others: []unstructured.Unstructured{
				storedPod("db-0", "StatefulSet/db", "labels: {app: web, controller-revision-hash: a}", crashing),
				storedPod("db-1", "StatefulSet/db", "labels: {app: web, controller-revision-hash: b}", starting),
			},
			standard: "InProgress LessReplicas: Replicas: 0/2", children: "db-1",
		}, {
			name: "a DaemonSet is judged by the Pods of its template", obj: daemonSet,
			others: []unstructured.Unstructured{
				storedPod("agent-x", "DaemonSet/agent", "labels: {app: web, pod-template-generation: '2'}", starting),
				storedPod("agent-y", "DaemonSet/agent", "labels: {app: web, pod-template-generation: '3'}", crashing),
			},
			standard: "InProgress NoDesiredNumber: Missing .status.desiredNumberScheduled", children: "agent-y", extended: "Failed PodsFailed: agent-y: ",
		}, {
			name: "a Service has its slices", obj: stored("v1", "Service", "web", "", "spec: {clusterIP: 10.0.0.1}"),
			others: []unstructured.Unstructured{
				stored("discovery.k8s.io/v1", "EndpointSlice", "web-x", "Service/web", "  labels: {kubernetes.io/service-name: web}"),
			},
			standard: "Current: Service is ready", children: "web-x",
		}, {
			name: "a claim waits for its first consumer", obj: stored("v1", "PersistentVolumeClaim", "data", "", claim),
			others:   []unstructured.Unstructured{late},
			standard: "InProgress NotBound: PVC is not Bound. phase: Pending", children: "local",
			extended: "Current WaitForFirstConsumer: The claim is bound with the first Pod that uses it",
		}, {
			name: "a claim that has a consumer", obj: stored("v1", "PersistentVolumeClaim", "data", "", "  annotations: {volume.kubernetes.io/selected-node: a}\n"+claim),
			others:   []unstructured.Unstructured{late},
			standard: "InProgress NotBound: PVC is not Bound. phase: Pending",
		}, {
			name: "a failed Job names the exit code of a Pod", obj: stored("batch/v1", "Job", "load", "", selects+"status: {startTime: '2026-01-01T00:00:00Z', conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: too many}]}"),
			others:   []unstructured.Unstructured{storedPod("load-x", "Job/load", "", "{phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3}}}]}")},
			standard: "Failed JobFailed: Job Failed. failed: 0/1", children: "load-x",
			extended: "Failed BackoffLimitExceeded: too many; load-x: Container app exited with code 3",
		}, {
			name: "a look-up that fails changes nothing", obj: newSet, down: "Pod",
			others:   []unstructured.Unstructured{storedPod("b", "ReplicaSet/web-10", "", crashing)},
			standard: "InProgress LessLabelled: Labelled: 0/2",
		}, {
			name: "no selector, no children", obj: stored("apps/v1", "ReplicaSet", "web-10", "", ""),
			others:   []unstructured.Unstructured{storedPod("b", "ReplicaSet/web-10", "", crashing)},
			standard: "InProgress LessLabelled: Labelled: 0/1",
		},
	}
}

func TestInspect(t *testing.T) {
	for _, c := range append(revisions(), verdicts()...) {
		t.Run(c.name, func(t *testing.T) {
			reader := shelf{objects: c.others, down: c.down}
			result, children, err := kstatus.Standard().Inspect(t.Context(), reader, &c.obj, time.Now())
			require.Equal(t, c.down != "", errors.Is(err, errDown), err)
			require.Equal(t, c.standard, result.String())
			var names []string
			for _, child := range children {
				names = append(names, child.Object.GetName())
			}
			require.Equal(t, c.children, strings.Join(names, " "))
			result, _, _ = kstatus.Extended().Inspect(t.Context(), reader, &c.obj, time.Now())
			if c.extended == "" {
				require.Equal(t, kstatus.Extended().Compute(&c.obj, time.Now()).Status, result.Status)
			}
			require.Contains(t, result.String(), c.extended)
		})
	}
}

func TestInspectNothing(t *testing.T) {
	result, children, err := kstatus.Standard().Inspect(t.Context(), shelf{}, nil, time.Now())
	require.NoError(t, err)
	require.Empty(t, children)
	require.Equal(t, kstatus.Unknown, result.Status)
}

// FuzzInspect gives Inspect any object, and any others for children. It must not panic, change
// nothing, and say the same twice.
func FuzzInspect(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"uid":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}}}}`),
		[]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"uid":"b","labels":{"a":"b"},"ownerReferences":[{"uid":"a"}]},"status":{"phase":"Failed"}}`))
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":1,"annotations":[]},"spec":{"selector":{"matchExpressions":[{"key":1}]}}}`),
		[]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"ownerReferences":[null,{"uid":{},"controller":"true"}]}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"storageClassName":"a"}}`),
		[]byte(`{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"a"},"volumeBindingMode":"WaitForFirstConsumer"}`))
	f.Fuzz(func(t *testing.T, one, other []byte) {
		var obj, child unstructured.Unstructured
		if json.Unmarshal(one, &obj.Object) != nil || json.Unmarshal(other, &child.Object) != nil || child.Object == nil {
			t.Skip()
		}
		before := obj.DeepCopy()
		for _, rules := range []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()} {
			reader := shelf{objects: []unstructured.Unstructured{child, child}}
			result, children, _ := rules.Inspect(t.Context(), reader, &obj, now)
			again, _, _ := rules.Inspect(t.Context(), reader, &obj, now)
			require.Equal(t, result, again)
			require.Equal(t, before.Object, obj.Object)
			if own := rules.Compute(&obj, now); own.Status != kstatus.InProgress {
				require.Equal(t, own, result)
			}
			for _, c := range children {
				require.Equal(t, rules.Compute(&child, now), c.Result)
			}
		}
	})
}
