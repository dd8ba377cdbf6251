// Package recording executes scripts on a cluster and records the objects, as its controllers
// change them, phase by phase. internal/dev/e2e records the real controllers, and the tests of
// stage/lab/controllers compare their own controllers with the recordings.
//
// # Terminology
//
// A script is a sequence of phases. A phase executes actions, waits until a condition holds and
// nothing changes any more, and records the objects of the script's kinds. A recording is a script
// with the recorded objects.
//
// # Usage
//
//	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), recording.Kubelet())
//	… // create nodes named NodePrefix + a number and a namespace, and play the set
//	got, err := recording.New(cluster, namespace, script).Record(ctx, waitSettled)
//
// A WaitSettled lets time pass, real or virtual.
//
// # Determinism
//
// Values that differ from run to run are replaced by placeholders, so that two recordings of a
// script are equal; see [Normalizer].
//
// # Concurrency
//
// A Recorder and a Normalizer must not be used from several goroutines at once.
package recording

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// A Script is a list of phases. With Objects in its phases it is a recording.
type Script struct {
	About      string   `json:"about"`
	Kubernetes string   `json:"kubernetes,omitempty"` // version of the control plane that was recorded
	Kinds      []string `json:"kinds"`                // of the objects to record, in this order
	Races      string   `json:"races,omitempty"`      // fields that depend on the timing of the real controllers, so that they can differ between two runs
	Phases     []Phase  `json:"phases"`
}

// A Phase is one phase of a script.
type Phase struct {
	Name    string           `json:"name"`
	Do      []Action         `json:"do,omitempty"`
	Try     []Action         `json:"try,omitempty"`     // after Do; the API server may refuse them
	Answers []Answer         `json:"answers,omitempty"` // to Try, as recorded
	Until   string           `json:"until"`             // jq on an object with a list of objects for each kind; true ends the phase
	Objects []map[string]any `json:"objects,omitempty"` // as recorded, normalized
}

// An Action has exactly one field set.
type Action struct {
	Create map[string]any `json:"create,omitempty"` // an object; its default namespace is the namespace of the script
	Patch  *Patch         `json:"patch,omitempty"`
	Delete *Delete        `json:"delete,omitempty"`
	Evict  string         `json:"evict,omitempty"` // name of a Pod
	Play   *Play          `json:"play,omitempty"`
}

// An Answer is the answer of an API server to an action. The zero value means success.
type Answer struct {
	Code       int32                `json:"code,omitempty"`
	Reason     metav1.StatusReason  `json:"reason,omitempty"`
	Message    string               `json:"message,omitempty"`
	Causes     []metav1.StatusCause `json:"causes,omitempty"`
	RetryAfter int32                `json:"retryAfter,omitempty"` // in seconds
}

// A Patch is a merge patch.
type Patch struct {
	Kind string         `json:"kind"`
	Name string         `json:"name"`
	Data map[string]any `json:"data"`
}

// A Delete deletes an object.
type Delete struct {
	Kind    string               `json:"kind"`
	Name    string               `json:"name"`
	Options metav1.DeleteOptions `json:"options,omitempty"`
}

// A Play tells the Stages that replace the kubelet what to do with Pods.
type Play struct {
	Pods  int    `json:"pods"`  // how many of the Pods in the phase From, first by name; 0: all
	From  string `json:"from"`  // their phase: Pending, Running or Terminating
	Stage string `json:"stage"` // the new state: ready, unready, complete, fail or gone
}

// Parse reads a script. Unknown fields are errors.
func Parse(data []byte) (Script, error) {
	var s Script
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return s, err
	}
	for _, kind := range s.Kinds {
		if _, err := kindOf(kind); err != nil {
			return s, err
		}
	}
	return s, nil
}

func kindOf(name string) (schema.GroupVersionKind, error) {
	for _, gvk := range knownKinds {
		if gvk.Kind == name {
			return gvk, nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("unknown kind %q", name)
}

// knownKinds are the kinds that scripts can name.
var knownKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "PersistentVolume"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "ResourceQuota"},
	{Version: "v1", Kind: "LimitRange"},
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
}
