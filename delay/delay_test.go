package delay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

var now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

func parse(t testing.TB, text string) *v1alpha1.StageDelay {
	t.Helper()
	var d *v1alpha1.StageDelay
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &d))
	return d
}

func TestRange(t *testing.T) {
	obj := func() map[string]any {
		return map[string]any{"a": map[string]any{
			"empty": "", "five": "5s", "text": "5 minutes", "bare": "5000", "past": "2006-01-02T15:04:00Z", "soon": "2006-01-02T15:04:06.5Z", "number": int64(7), "null": nil,
		}}
	}
	jq := func(field, path string) string {
		return "durationMilliseconds: 1000, " + field + ": {expressionFrom: ." + path + "}"
	}
	cel := func(x string) string {
		return "durationMilliseconds: 1000, durationFrom: {cel: {expression: \"" + x + "\"}}"
	}
	for _, tc := range []struct{ name, delay, want string }{
		{"no delay", "null", "none"},
		{"an empty delay is zero", "{}", "0s"},
		{"milliseconds", "{durationMilliseconds: 1500}", "1.5s"},
		{"jitter is the upper bound", "{durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}", "[1s, 5s)"},
		{"jitter below the duration is the delay", "{durationMilliseconds: 3000, jitterDurationMilliseconds: 2000}", "2s"},
		{"jitter alone starts at zero", "{jitterDurationMilliseconds: 2000}", "[0s, 2s)"},
		{"a duration read from the object", "{" + jq("durationFrom", "a.five") + "}", "5s"},
		{"a past time is negative", "{" + jq("durationFrom", "a.past") + "}", "-5s"},
		{"a time to come", "{" + jq("durationFrom", "a.soon") + "}", "1.5s"},
		{"an empty string is no delay", "{" + jq("durationFrom", "a.empty") + ", jitterDurationMilliseconds: 9000}", "none"},
		{"text that is no duration", "{" + jq("durationFrom", "a.text") + "}", "1s"},
		{"a number without unit", "{" + jq("durationFrom", "a.bare") + "}", "1s"},
		{"a jq number", "{" + jq("durationFrom", "a.number") + "}", "1s"},
		{"null", "{" + jq("durationFrom", "a.null") + "}", "1s"},
		{"a jq failure", "{" + jq("durationFrom", "a.five.x") + "}", "1s"},
		{"the first output that is not null counts", "{durationFrom: {expressionFrom: '.a.null, .a.five, .a.text'}}", "5s"},
		{"a failure after an output leaves none", "{durationMilliseconds: 1000, durationFrom: {expressionFrom: '.a.five, .a.bare.x'}}", "1s"},
		{"jitter read from the object", "{" + jq("jitterDurationFrom", "a.five") + "}", "[1s, 5s)"},
		{"an empty jitter is none", "{" + jq("jitterDurationFrom", "a.empty") + ", jitterDurationMilliseconds: 9000}", "1s"},
		{"unreadable jitter falls back", "{" + jq("jitterDurationFrom", "a.text") + ", jitterDurationMilliseconds: 9000}", "[1s, 9s)"},
		{"unreadable jitter without fallback", "{" + jq("jitterDurationFrom", "a.text") + "}", "1s"},
		{"a past jitter is the delay", "{" + jq("jitterDurationFrom", "a.past") + "}", "-5s"},
		{"the new form of jq", "{durationFrom: {jq: {expression: .a.five}}}", "5s"},
		{"a CEL string", "{" + cel("self.a.five") + "}", "5s"},
		{"a CEL time as string", "{" + cel("self.a.past") + "}", "-5s"},
		{"an empty CEL string", "{" + cel("self.a.empty") + "}", "none"},
		{"a CEL duration", "{" + cel("duration('1m')") + "}", "1m0s"},
		{"a CEL timestamp", "{" + cel("timestamp(self.a.past)") + "}", "-5s"},
		{"a CEL integer is nanoseconds", "{" + cel("1500000000") + "}", "1.5s"},
		{"a CEL unsigned integer", "{" + cel("18446744073709551615u") + "}", "2562047h47m16.854775807s"},
		{"a CEL double", "{" + cel("2e9") + "}", "2s"},
		{"a CEL failure", "{" + cel("self.nope") + "}", "1s"},
		{"a CEL result of another type", "{" + cel("self.a") + "}", "1s"},
		{"jitter by CEL", "{durationMilliseconds: 1000, jitterDurationFrom: {cel: {expression: \"duration('4s')\"}}}", "[1s, 4s)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := delay.Compile(parse(t, tc.delay), delay.Options{})
			require.NoError(t, err)
			o := obj()
			require.Equal(t, tc.want, d.Range(o, now).String())
			require.Equal(t, obj(), o, "the object is not changed")
		})
	}
}

func TestPickIsUniformAndStaysInside(t *testing.T) {
	r := delay.Range{Given: true, Min: time.Second, Max: 5 * time.Second}
	require.Equal(t, time.Second, r.Pick(0))
	require.Equal(t, 3*time.Second, r.Pick(1<<63))
	require.Equal(t, 5*time.Second-1, r.Pick(1<<64-1))
	wide := delay.Range{Given: true, Min: -1 << 63, Max: 1<<63 - 1}
	require.Equal(t, time.Duration(-1<<63), wide.Pick(0))
	require.Equal(t, time.Duration(1<<63-2), wide.Pick(1<<64-1))
	require.Equal(t, time.Second, delay.Range{Given: true, Min: time.Second, Max: time.Second}.Pick(1<<64-1))
}

func TestCompileReportsAllFaults(t *testing.T) {
	d, err := delay.Compile(parse(t, `{durationMilliseconds: -1, durationFrom: {expressionFrom: '.a |'},
		jitterDurationMilliseconds: 99999999999999999, jitterDurationFrom: {cel: {expression: 'true'}}}`), delay.Options{})
	require.Nil(t, d)
	var paths []string
	for _, fault := range err.(interface{ Unwrap() []error }).Unwrap() {
		e, ok := errors.AsType[*delay.Error](fault)
		require.True(t, ok)
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{"durationFrom.expressionFrom", "durationMilliseconds", "jitterDurationFrom.cel.expression", "jitterDurationMilliseconds"}, paths)
}

func TestCELWinsOverJQ(t *testing.T) {
	d, err := delay.Compile(parse(t, "{durationFrom: {expressionFrom: '\"1s\"', cel: {expression: duration('2s')}}}"), delay.Options{})
	warning, ok := errors.AsType[*delay.Error](err)
	require.True(t, ok && warning.Warning)
	require.Equal(t, 2*time.Second, d.Range(nil, now).Min)
}

func ExampleDelay_Range() {
	ms := int64(1000)
	d, err := delay.Compile(&v1alpha1.StageDelay{
		DurationMilliseconds: &ms,
		JitterDurationFrom:   &v1alpha1.ExpressionFrom{ExpressionFrom: `.metadata.annotations["jitter"]`},
	}, delay.Options{})
	if err != nil {
		panic(err)
	}
	obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"jitter": "5s"}}}
	r := d.Range(obj, now)
	fmt.Println(r, r.Pick(1<<63))
	// Output: [1s, 5s) 3s
}

// Your own limits and functions, in jq and in CEL.
func ExampleOptions() {
	options := delay.Options{
		JQSteps: 1000,
		CELCost: 1000,
		JQFunctions: map[string]func(input any, args []any) any{
			"seconds/1": func(_ any, args []any) any { return fmt.Sprintf("%vs", args[0]) },
		},
		CELOptions: []cel.EnvOption{cel.Function("seconds", cel.Overload("seconds_int", []*cel.Type{cel.IntType}, cel.DurationType,
			cel.UnaryBinding(func(n ref.Val) ref.Val { return types.Duration{Duration: time.Duration(n.(types.Int)) * time.Second} })))},
	}
	d, err := delay.Compile(&v1alpha1.StageDelay{
		DurationFrom:       &v1alpha1.ExpressionFrom{JQ: &v1alpha1.ExpressionJQ{Expression: "seconds(.spec.grace)"}},
		JitterDurationFrom: &v1alpha1.ExpressionFrom{CEL: &v1alpha1.ExpressionCEL{Expression: "seconds(self.spec.grace * 2)"}},
	}, options)
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Range(map[string]any{"spec": map[string]any{"grace": int64(30)}}, now))

	_, err = delay.Compile(&v1alpha1.StageDelay{DurationFrom: &v1alpha1.ExpressionFrom{ExpressionFrom: ".spec.grace | second(1)"}}, options)
	if fault, ok := errors.AsType[*delay.Error](err); ok {
		fmt.Println(fault.Path, fault.Offset, fault.Err)
	}
	// Output:
	// [30s, 1m0s)
	// durationFrom.expressionFrom 14 function not defined: second/1
}

func TestLimitsAreOptions(t *testing.T) {
	definition := parse(t, "{durationMilliseconds: 1000, durationFrom: {expressionFrom: '[range(100)] | \"5s\"'}}")
	limited, err := delay.Compile(definition, delay.Options{JQSteps: 50})
	require.NoError(t, err)
	require.Equal(t, time.Second, limited.Range(nil, now).Min)
	require.ErrorContains(t, part(limited.Explain(nil, now), "duration").Err, "step budget of 50")
	free, err := delay.Compile(definition, delay.Options{})
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, free.Range(nil, now).Min)
}
