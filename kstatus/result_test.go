package kstatus_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func TestConditionsStandForTheStatus(t *testing.T) {
	cases := map[kstatus.Status][]kstatus.Condition{
		kstatus.InProgress:  {{Type: "Reconciling", Status: "True", Reason: "R", Message: "m %d"}},
		kstatus.Failed:      {{Type: "Stalled", Status: "True", Reason: "R", Message: "m %d"}},
		kstatus.Current:     nil,
		kstatus.Terminating: nil,
		kstatus.NotFound:    nil,
		kstatus.Unknown:     nil,
	}
	for status, want := range cases {
		t.Run(string(status), func(t *testing.T) {
			require.Equal(t, want, status.Because("R", "m %d").Conditions())
		})
	}
}

func TestAMissedDeadlineKeepsTheMessageOfTheController(t *testing.T) {
	r := kstatus.Standard().Compute(parse(t, `{apiVersion: apps/v1, kind: Deployment, status: {conditions: [
  {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: timed out}]}}`), now)
	require.Equal(t, "Progress deadline exceeded", r.Message())
	require.Equal(t, []kstatus.Condition{{Type: "Stalled", Status: "True", Reason: "ProgressDeadlineExceeded", Message: "timed out"}}, r.Conditions())
}

// What an object says is shown on one line, whatever is in it: a terminal obeys escape sequences.
func TestTextOfAnObjectIsPrintable(t *testing.T) {
	const forged = "x\x1b[2J\x07\x7f\u0085\u009b31m\r\nforged\u2028\u202e\xff"
	const shown = `x\x1b[2J\a\x7f\u0085\u009b31m\r\nforged\u2028\u202e\xff`
	widget := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "status": map[string]any{"conditions": []any{
			map[string]any{"type": kind, "status": "False", "reason": "Broken", "message": forged},
		}}}}
	}
	r := kstatus.Extended().Compute(widget("Ready"), now)
	require.Equal(t, shown, r.Message())
	require.Equal(t, []kstatus.Condition{{Type: "Stalled", Status: "True", Reason: "Broken", Message: forged}}, r.Conditions(), "an API gets what an API said")
	require.Equal(t, shown, kstatus.Failed.Because("R", forged).Message())
	require.Equal(t, `status.conditions[type="`+shown+`"]`, kstatus.Failed.From(kstatus.Condition{Type: forged}).Field())
	require.Equal(t, `status.containers.`+shown, kstatus.Failed.Because("R", "").At("status.containers."+forged).Field())
	long := strings.Repeat("m", 5000)
	require.Equal(t, long, kstatus.Failed.Because("R", long).Message(), "it is whole")

	obj := widget(forged + "Ready")
	obj.SetKind("Widget" + forged)
	for _, rules := range []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()} {
		for line := range strings.Lines(rules.Explain(obj, now).String()) {
			require.Equal(t, -1, strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
		}
	}
}

func TestResultsAreComparable(t *testing.T) {
	pod := measured(t)["Pod crash-looping"]
	require.True(t, kstatus.Standard().Compute(pod, now) == kstatus.Standard().Compute(pod, now))
	require.Equal(t, "spec.size", kstatus.InProgress.Because("Small", "too small").At("spec.size").Field())
}

func TestAggregate(t *testing.T) {
	cases := map[string]struct {
		desired kstatus.Status
		of      []kstatus.Status
		want    kstatus.Status
	}{
		"none have reached it":            {kstatus.Current, nil, kstatus.Current},
		"all have reached it":             {kstatus.NotFound, []kstatus.Status{kstatus.NotFound, kstatus.NotFound}, kstatus.NotFound},
		"one has not":                     {kstatus.Current, []kstatus.Status{kstatus.Current, kstatus.Terminating}, kstatus.InProgress},
		"one is unknown":                  {kstatus.Current, []kstatus.Status{kstatus.Unknown, kstatus.InProgress}, kstatus.Unknown},
		"a failure is worse than unknown": {kstatus.Current, []kstatus.Status{kstatus.Unknown, kstatus.Failed}, kstatus.Failed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.desired.Aggregate(c.of...)) })
	}
}

// widgetObject is a typed object, as clients have them: it does not say its kind.
type widgetObject struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func (w *widgetObject) DeepCopyObject() runtime.Object { c := *w; return &c }

func TestTypedObjects(t *testing.T) {
	w := &widgetObject{}
	w.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Young"}}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	r, err := kstatus.Standard().ComputeTyped(w, kind, now)
	require.NoError(t, err)
	require.Equal(t, "InProgress Young", r.String())

	seen := func(o kstatus.Object) (kstatus.Result, bool) {
		return kstatus.Current.Because("", o.Group()+" "+o.Kind()), true
	}
	r, err = kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{kind.GroupKind(): seen}).ComputeTyped(w, kind, now)
	require.NoError(t, err)
	require.Equal(t, "example.com Widget", r.Message())

	_, err = kstatus.Standard().ComputeTyped(nil, kind, now)
	require.Error(t, err)
}
