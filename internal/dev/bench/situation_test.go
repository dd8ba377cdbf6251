package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	peer "sigs.k8s.io/kwok/pkg/apis/v1alpha1"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// values reads YAML as an API client reads an object: whole numbers are int64.
func values(t *testing.T, text string) map[string]any {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	var v map[string]any
	require.NoError(t, utiljson.Unmarshal(data, &v))
	return v
}

// typed are the Stages of the case.
func (c Case) typed() []*v1alpha1.Stage {
	var stages []*v1alpha1.Stage
	for _, s := range c.Stages {
		st := &v1alpha1.Stage{}
		_ = convert(s, st) // a field that does not fit is left out
		stages = append(stages, st)
	}
	return stages
}

// of is the Stage of the situation.
func (s situation) of() *v1alpha1.Stage {
	for _, st := range s.typed() {
		if st.Name == s.stage {
			return st
		}
	}
	return &v1alpha1.Stage{}
}

func (o Outcome) of(stage string) StageOutcome {
	for _, v := range o.Stages {
		if v.Stage == stage {
			return v
		}
	}
	return StageOutcome{}
}

func (s situation) anyStage(is func(*v1alpha1.Stage) bool) bool {
	return slices.ContainsFunc(s.typed(), is)
}

// scope is the Stage of the situation, or all if it is about all.
func (s situation) scope() []*v1alpha1.Stage {
	if s.stage == "" {
		return s.typed()
	}
	return []*v1alpha1.Stage{s.of()}
}

func (s situation) anyUnknownField() bool {
	return slices.ContainsFunc(s.Stages, func(st map[string]any) bool {
		data, err := json.Marshal(st)
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		return err == nil && decoder.Decode(&peer.Stage{}) != nil
	})
}

func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// failedStage: kwok errs where we go on with the other Stages.
func failedStage(s situation) bool {
	switch s.aspect {
	case "match":
		return s.mismatch.kwok != "true" && s.mismatch.kwok != "false" && s.ours == "false"
	case "weight":
		return s.mismatch.kwok != "none" && !isNumber(s.mismatch.kwok) && s.ours == "none"
	default:
		return s.kwokSays.Err != "" && !strings.HasPrefix(s.kwokSays.Err, "panic")
	}
}

// outputs runs a jq program as kwok does: without nulls, and without any output if the program
// fails.
func outputs(source string, obj map[string]any) []any {
	raw, failed := rawOutputs(source, obj)
	if failed {
		return nil
	}
	return slices.DeleteFunc(raw, func(v any) bool { return v == nil })
}

// needsPrecision reports whether a program gives something else when integers stay integers.
func (s situation) needsPrecision(program string) bool {
	raw, failed := rawOutputs(program, s.Object)
	exact, exactFailed := run(program, ints(s.Object))
	return failed != exactFailed || printed64(raw) != printed64(exact)
}

// ints converts integers to the types that gojq accepts.
func ints(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, item := range v {
			m[k] = ints(item)
		}
		return m
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = ints(item)
		}
		return items
	case int64:
		return int(v)
	default:
		return v
	}
}

func printed64(outputs []any) string {
	data, err := json.Marshal(outputs)
	return fmt.Sprint(string(data), err)
}

// rawOutputs are the outputs before the program ends or fails.
func rawOutputs(source string, obj map[string]any) (outputs []any, failed bool) {
	var input any
	if err := convert(obj, &input); err != nil {
		return nil, true
	}
	return run(source, input)
}

func run(source string, input any) (outputs []any, failed bool) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, true
	}
	iter := query.Run(input)
	for v, ok := iter.Next(); ok; v, ok = iter.Next() {
		if _, failed := v.(error); failed {
			return outputs, true
		}
		outputs = append(outputs, v)
	}
	return outputs, false
}

// source is the jq program of an expression, if that counts.
func source(f *v1alpha1.ExpressionFrom) (string, bool) {
	switch {
	case f == nil || f.CEL != nil:
		return "", false
	case f.JQ != nil:
		return f.JQ.Expression, true
	default:
		return f.ExpressionFrom, true
	}
}

// sources are the jq programs of the Stage for the aspect.
func (s situation) sources() (programs []string) {
	spec := s.of().Spec
	from := []*v1alpha1.ExpressionFrom{spec.WeightFrom}
	switch s.aspect {
	case "match":
		return keys(spec.Selector)
	case "delay":
		from = []*v1alpha1.ExpressionFrom{spec.Delay.DurationFrom, spec.Delay.JitterDurationFrom}
	}
	for _, f := range from {
		if program, ok := source(f); ok {
			programs = append(programs, program)
		}
	}
	return programs
}

// keys are the programs of a selector.
func keys(sel *v1alpha1.StageSelector) (programs []string) {
	if sel == nil {
		return nil
	}
	for _, e := range sel.MatchExpressions {
		programs = append(programs, e.Key)
		if e.JQ != nil {
			programs[len(programs)-1] = e.JQ.Key
		}
	}
	return programs
}

// numberAmongValues: a program gives a number of the object that is one of the values.
func numberAmongValues(s situation) bool {
	sel := s.of().Spec.Selector
	return sel != nil && slices.ContainsFunc(sel.MatchExpressions, func(e v1alpha1.MatchExpression) bool {
		jq := e.JQ
		if jq == nil {
			jq = &v1alpha1.SelectorJQ{Key: e.Key, Operator: e.Operator, Values: e.Values}
		}
		return slices.ContainsFunc(outputs(jq.Key, s.Object), func(v any) bool {
			switch v := v.(type) {
			case float64:
				return slices.Contains(jq.Values, strconv.FormatFloat(v+0, 'f', -1, 64)) // +0 makes 0 of -0
			case json.Number:
				return slices.Contains(jq.Values, v.String())
			case *big.Int:
				return slices.Contains(jq.Values, v.String())
			default:
				return false
			}
		})
	})
}

func negativeWeight(s situation) bool {
	if s.aspect == "weight" {
		return strings.HasPrefix(s.mismatch.kwok, "-") && isNumber(s.mismatch.kwok) && s.ours == "0"
	}
	overflows := strings.HasPrefix(s.kwokSays.Err, "panic: invalid argument to Int63n")
	return overflows || slices.ContainsFunc(s.kwokSays.Stages, func(v StageOutcome) bool { return strings.HasPrefix(v.Weight, "-") })
}

func integerWeight(s situation) bool {
	program, ok := source(s.of().Spec.WeightFrom)
	if !ok {
		return false
	}
	all := outputs(program, s.Object)
	if len(all) == 0 {
		return false
	}
	switch n := all[0].(type) {
	case int:
		return s.ours == strconv.Itoa(max(n, 0))
	case json.Number: // of fromjson
		return isNumber(s.ours)
	default:
		return false
	}
}

// unreadableDelay: kwok returns an error where we use the delay without the expression, apart from
// other differences.
func unreadableDelay(s situation) bool {
	errs := s.mismatch.kwok != "none" && !strings.HasPrefix(s.mismatch.kwok, "[")
	return errs && (s.withoutExpression("durationFrom") || s.withoutExpression("jitterDurationFrom"))
}

func (s situation) withoutExpression(field string) bool {
	c, removed := clone(s.Case), false
	for _, st := range c.Stages {
		d, _ := st["spec"].(map[string]any)["delay"].(map[string]any)
		removed = removed || st["metadata"].(map[string]any)["name"] == s.stage && d[field] != nil
		delete(d, field)
	}
	k, err := NewKwok(c.Stages, Placeholders())
	if err != nil || !removed {
		return false
	}
	says := k.Outcome(c.object())
	rest := situation{mismatch{"delay", s.stage, says.of(s.stage).Delay, s.ours}, c, says, s.explained}
	return rest.mismatch.kwok == s.ours || s.explained(rest)
}
