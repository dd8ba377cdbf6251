// Package record writes the decisions of a stage Set in the format of the conformance corpus, and
// compares them with the recorded results.
package record

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Now is the time of all cases.
var Now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// Outcome lists the Stages that can be played on obj, in the format of the output files.
func Outcome(set *stage.Set, obj *unstructured.Unstructured) (map[string]any, error) {
	stages := []any{}
	for _, c := range set.Candidates(obj, Now) {
		if c.Probability == 0 {
			continue
		}
		s, err := candidate(c, obj)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	result := map[string]any{"apiGroup": obj.GetAPIVersion(), "kind": obj.GetKind(), "name": obj.GetName(), "stages": stages}
	if ns := obj.GetNamespace(); ns != "" {
		result["namespace"] = ns
	}
	return result, nil
}

func candidate(c stage.Candidate, obj *unstructured.Unstructured) (map[string]any, error) {
	t := c.Transition(0)
	effects, err := t.Effects(obj, Now)
	if err != nil {
		return nil, err
	}
	next := []any{}
	for _, e := range effects {
		next = append(next, describe(e))
	}
	if t.Immediate() {
		next = append(next, map[string]any{"kind": "immediate"})
	}
	s := map[string]any{"stage": c.Stage, "next": next}
	if c.Weighted {
		s["weight"] = c.Weight
	}
	switch {
	case c.Delay.Given && c.Delay.Max > c.Delay.Min:
		s["delay"] = []any{c.Delay.Min, c.Delay.Max}
	case c.Delay.Given:
		s["delay"] = []any{c.Delay.Min}
	}
	return s, nil
}

// describe puts an effect into the format of the output files.
func describe(e stage.Effect) map[string]any {
	switch e := e.(type) {
	case stage.Event:
		return map[string]any{"kind": "event", "type": e.Type, "reason": e.Reason, "message": e.Message}
	case stage.Patch:
		return request("patch", string(e.Type), e.Subresource, e.Impersonate, e.Data)
	case stage.Apply:
		return request("apply", string(e.Type), e.Subresource, e.Impersonate, e.Object.Object)
	default:
		return map[string]any{"kind": "delete"}
	}
}

func request(kind, patchType, subresource, user string, data any) map[string]any {
	m := map[string]any{"kind": kind, "type": patchType, "data": data}
	for name, value := range map[string]string{"subresource": subresource, "impersonation": user} {
		if value != "" {
			m[name] = value
		}
	}
	return m
}

// Placeholders are template functions that print their own names and arguments instead of values
// from outside the object.
func Placeholders() map[string]any {
	funcs := map[string]any{}
	for _, name := range []string{"NodeIP", "NodeName", "NodePort", "PodIP", "NodeIPWith", "PodIPWith", "Now", "now", "Version"} {
		funcs[name] = func(args ...any) string { return "<" + call(name, args) + ">" }
	}
	for _, name := range []string{"NodeIPsWith", "PodIPsWith"} {
		funcs[name] = func(args ...any) []string {
			return []string{"<0 of " + call(name, args) + ">", "<1 of " + call(name, args) + ">"}
		}
	}
	return funcs
}

func call(name string, args []any) string {
	if len(args) == 0 {
		return name
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = fmt.Sprintf("%#v", a)
	}
	return name + "(" + strings.Join(texts, ", ") + ")"
}
