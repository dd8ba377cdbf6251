package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// Kwok is the side of kwok's lifecycle, called as its controllers call it. It must not be used from
// several goroutines at once.
type Kwok struct {
	Lifecycles map[Ref]lifecycle.Lifecycle
	Renderer   gotpl.Renderer

	compileError *error // found by findCompileError for the first object; later objects do not show it
}

// Ref is the resourceRef of a Stage, by which kwok's controllers group Stages.
type Ref struct{ APIGroup, Kind string }

// NewKwok prepares Stages given as JSON values. As kwok does with files, it ignores unknown fields
// and sets no defaults.
func NewKwok(stages []map[string]any, funcs gotpl.FuncMap) (*Kwok, error) {
	k := &Kwok{Lifecycles: map[Ref]lifecycle.Lifecycle{}, Renderer: gotpl.NewRenderer(funcs)}
	for _, s := range stages {
		st, err := internalStage(s)
		if err != nil {
			return nil, err
		}
		lc, err := lifecycle.NewLifecycle([]*internalversion.Stage{st})
		if err != nil {
			return nil, err
		}
		ref := Ref{st.Spec.ResourceRef.APIGroup, st.Spec.ResourceRef.Kind}
		k.Lifecycles[ref] = append(k.Lifecycles[ref], lc...)
	}
	return k, nil
}

func internalStage(s map[string]any) (*internalversion.Stage, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var public v1alpha1.Stage
	if err := json.Unmarshal(data, &public); err != nil {
		return nil, err
	}
	st, err := internalversion.ConvertToInternalStage(&public)
	if err != nil {
		return nil, err
	}
	defaultPatchTypes(st)
	return st, nil
}

// defaultPatchTypes makes patches of Pods and Nodes strategic if the Stage does not set a type.
// Kwok's controllers have these objects as Go types, from which kwok's lifecycle concludes the
// same.
func defaultPatchTypes(st *internalversion.Stage) {
	ref := Ref{st.Spec.ResourceRef.APIGroup, st.Spec.ResourceRef.Kind}
	if ref != (Ref{"v1", "Pod"}) && ref != (Ref{"v1", "Node"}) {
		return
	}
	strategic := internalversion.StagePatchTypeStrategicMergePatch
	for i := range st.Spec.Steps {
		if p := st.Spec.Steps[i].Patch; p != nil && p.Type == nil {
			p.Type = &strategic
		}
	}
}

// EventOf returns the object as kwok's controllers convert it before they look for a Stage.
func EventOf(obj *unstructured.Unstructured) *lifecycle.Event {
	return &lifecycle.Event{Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), Data: obj}
}

// Of returns the Stages for an object.
func (k *Kwok) Of(obj *unstructured.Unstructured) lifecycle.Lifecycle {
	return k.Lifecycles[Ref{obj.GetAPIVersion(), obj.GetKind()}]
}

// Outcome is kwok's decision on the object, for each Stage alone and for all together.
func (k *Kwok) Outcome(obj *unstructured.Unstructured) Outcome {
	return k.decide(obj, EventOf(obj))
}

func (k *Kwok) decide(obj *unstructured.Unstructured, event *lifecycle.Event) Outcome {
	var o Outcome
	lc := k.Of(obj)
	if k.compileError == nil {
		err := findCompileError(lc, event)
		k.compileError = &err
	}
	if *k.compileError != nil {
		return Outcome{Refused: (*k.compileError).Error()}
	}
	for _, st := range lc {
		o.Stages = append(o.Stages, k.stageOutcome(st, event, obj))
	}
	possible, err := lc.ListAllPossible(context.Background(), event)
	for _, st := range possible {
		o.Possible = append(o.Possible, st.Name())
	}
	if err == nil {
		err = tryMatch(lc, event)
	}
	if err != nil {
		o.Err = err.Error()
	}
	return o
}

// findCompileError finds a Stage that does not compile. Kwok notices it at the first object,
// returns an error once, and continues with an incomplete Stage. So an error that does not come
// again is a compile error.
func findCompileError(lc lifecycle.Lifecycle, event *lifecycle.Event) error {
	for _, st := range lc {
		alone := lifecycle.Lifecycle{st}
		_, first := alone.ListAllPossible(context.Background(), event)
		_, second := alone.ListAllPossible(context.Background(), event)
		if first != nil && (second == nil || first.Error() != second.Error()) {
			return first
		}
	}
	return nil
}

// tryMatch lets kwok choose a Stage once, to see whether it can.
func tryMatch(lc lifecycle.Lifecycle, event *lifecycle.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = lc.Match(context.Background(), event)
	return err
}

func (k *Kwok) stageOutcome(st *lifecycle.Stage, event *lifecycle.Event, obj *unstructured.Unstructured) StageOutcome {
	v := StageOutcome{Stage: st.Name(), Match: "false"}
	ctx := context.Background()
	matched, err := lifecycle.Lifecycle{st}.ListAllPossible(ctx, event)
	if err != nil {
		v.Match = err.Error()
	}
	if err != nil || len(matched) == 0 {
		return v
	}
	v.Match, v.Weight, v.Delay = "true", "none", "none"
	if w, ok, err := st.Weight(ctx, event); err != nil {
		v.Weight = err.Error()
	} else if ok {
		v.Weight = strconv.FormatInt(w, 10)
	}
	if r, ok, err := st.DelayRangePossible(ctx, event, Now); err != nil {
		v.Delay = err.Error()
	} else if ok {
		v.Delay = durations(r...)
	}
	v.Effects, err = k.Effects(st, obj)
	if err != nil {
		v.Failed = err.Error()
	}
	return v
}

// Effects plays a Stage and returns the requests that it would send.
func (k *Kwok) Effects(st *lifecycle.Stage, obj *unstructured.Unstructured) ([]Effect, error) {
	var effects []Effect
	add := func(e Effect) error {
		effects = append(effects, e)
		return nil
	}
	_, err := st.DoSteps(0, obj.GetFinalizers(), obj.Object, k.Renderer,
		func(e *internalversion.StageEvent) error {
			return add(Effect{Kind: "event", Type: e.Type, Data: e.Reason + ": " + e.Message})
		},
		func() error { return add(Effect{Kind: "delete"}) },
		func(p *lifecycle.Patch) error {
			return add(Effect{"patch", string(p.Type), p.Subresource, user(p.Impersonation), decodePlain(p.Data)})
		},
		func(a *lifecycle.Apply) error {
			return errors.Join(requireKind(a.Data), add(Effect{"apply", string(a.Type), a.Subresource, user(a.Impersonation), decodePlain(a.Data)}))
		},
	)
	return effects, err
}

func user(i *internalversion.ImpersonationConfig) string {
	if i == nil {
		return ""
	}
	return i.Username
}

// requireKind makes the check that kwok makes when it sends an object: without apiVersion and kind
// it finds no resource.
func requireKind(data []byte) error {
	var obj struct{ APIVersion, Kind string }
	if err := json.Unmarshal(data, &obj); err != nil {
		return err
	}
	if obj.APIVersion == "" || obj.Kind == "" {
		return errors.New("apply without apiVersion or kind")
	}
	return nil
}
