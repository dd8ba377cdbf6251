package house_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/celrule"
	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
	"github.com/stagecraft-go/stagecraft/staged"
)

// limitsNow is the time of all evaluations here.
var limitsNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// hostileObject is an object that a user could write to keep a player busy.
func hostileObject() map[string]any {
	numbers, list, texts := make([]any, 200_000), make([]any, 2_000), make([]any, 1_000)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	for i := range list {
		list[i] = int64(i)
	}
	for i := range texts {
		texts[i] = strings.Repeat("a", 1000)
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "hostile", "namespace": "default", "uid": "1"},
		"a":        map[string]any{"numbers": numbers}, "b": map[string]any{"numbers": append([]any{}, numbers...)},
		"l": list, "texts": texts, "s": strings.Repeat("a", 1<<20), "t": strings.Repeat("ab", 1<<19),
		"pattern": strings.Repeat(`(\pL{1,9}|`, 3000) + "x" + strings.Repeat(")", 3000),
		"repeats": strings.Repeat(`(a{0,30}){0,30}`, 200),
	}
}

// hostileCEL are expressions in CEL on the variable V; all are false or fail.
var hostileCEL = map[string]string{
	"a pattern of many states":     `V.s.matches("((a{0,30}){0,30})+c")`,
	"a usual pattern":              `V.s.matches("([0-9a-z]{1,30}[.-]?){1,10}-rc[0-9]")`,
	"a pattern in a loop":          `V.texts.exists(x, x.matches("(a{0,30})+c"))`,
	"a pattern of the object":      `"aaa".matches(V.pattern)`,
	"repeats of the object":        `"aaa".matches(V.repeats)`,
	"equality in a loop":           `V.l.exists(x, V.a != V.b)`,
	"equality with oneself":        `!V.l.all(x, V.a == V.a)`,
	"in, in a loop":                `!V.l.all(x, x in V.l)`,
	"in a list of texts":           `V.l.exists(x, V.s in V.texts)`,
	"loops in loops":               `!V.l.all(x, V.l.all(y, V.l.all(z, x + y + z >= 0)))`,
	"a text looked for":            `V.l.exists(x, V.s.contains("b"))`,
	"a text compared":              `V.l.exists(x, V.s < V.s)`,
	"a text that doubles":          `["x"]` + strings.Repeat(`.map(x, x + x)`, 40) + ` == V.l`,
	"a list that doubles":          `[V.l]` + strings.Repeat(`.map(x, [x, x])`, 40) + ` == [V.l]`,
	"sums of texts":                `V.l.map(x, V.s + V.t) == V.l`,
	"the length of a text, often":  `V.l.exists(x, size(V.s) == 1)`,
	"numbers of texts, often":      `V.l.exists(x, double(V.s) == 1.0)`,
	"a constant pattern too large": `V.s.matches("` + strings.Repeat(`\\pL`, 20_000) + `")`,
}

// hostileStageCEL use what staged and cel-go alone do not have.
var hostileStageCEL = map[string]string{
	"distinct":           `V.l.distinct() == []`,
	"sort":               `V.texts.map(x, x + V.s).sort() == []`,
	"sets":               `!sets.equivalent(V.l, V.l)`,
	"replace":            `V.s.replace("a", V.t) == ""`,
	"replace of nothing": `V.s.replace("", V.t) == ""`,
	"join":               `V.texts.map(x, V.t).join(V.s) == ""`,
	"split":              `V.l.exists(x, V.s.split("").size() == 1)`,
	"indexOf":            `V.t.indexOf(V.s) == 1`,
	"lastIndexOf":        `V.t.lastIndexOf(V.s) == 1`,
	"format":             `V.l.exists(x, "%s".format([V.a]) == "")`,
	"range":              `lists.range(1000000000).size() == 0`,
	"upperAscii":         `V.l.exists(x, V.s.upperAscii() == "")`,
	"quantities":         `V.l.map(x, Quantity("1e9999") * x) == []`,
	"transformMap":       `V.l.transformMap(i, x, V.l.transformMap(j, y, x + y)) == {}`,
	"base64":             `V.l.exists(x, base64.encode(bytes(V.s)) == "")`,
	"reverse":            `V.l.exists(x, V.s.reverse() == "")`,
	"flatten":            `V.l.exists(x, V.l.map(y, V.l).flatten() == [])`,
}

// hostileJQ are programs in jq.
var hostileJQ = map[string]string{
	"a pattern of many states":    `.s | test("((a{0,30}){0,30})+c")`,
	"a usual pattern":             `.s | test("([0-9a-z]{1,30}[.-]?){1,10}-rc[0-9]")`,
	"a pattern of the object":     `.pattern as $p | "aaa" | test($p)`,
	"repeats of the object":       `.repeats as $p | "aaa" | test($p)`,
	"matches that look far ahead": `.s | [match("a.*b|a"; "g")] | length`,
	"scan":                        `[.s | scan("a.*b|a")] | length`,
	"splits":                      `[.s | splits("a.*b|a")] | length`,
	"gsub":                        `.s | gsub("a.*b|a"; "x")`,
	"capture":                     `.s | capture("(?<n>(a{0,30}){0,30})+c")`,
	"patterns in a loop":          `[.texts[] | test("(a{0,30})+c")] | length`,
	"equality in a loop":          `. as $o | .l | map($o.a == $o.b) | length`,
	"index in a loop":             `. as $o | .l | map(. as $x | $o.l | index($x)) | length`,
	"contains in a loop":          `. as $o | .l | map($o.s | contains("b")) | length`,
	"endless":                     `last(range(1000000000))`,
	"a text that doubles":         `"x" | reduce range(40) as $i (.; . + .)`,
	"a list that doubles":         `[1] | reduce range(40) as $i (.; [., .]) | tojson`,
	"sort in a loop":              `. as $o | .l | map($o.texts | sort) | length`,
	"unique in a loop":            `. as $o | .l | map($o.l | unique) | length`,
	"tojson in a loop":            `. as $o | .l | map($o.a | tojson) | length`,
}

// hostileTemplates are templates.
var hostileTemplates = map[string]string{
	"a pattern of many states": `{{ regexMatch "((a{0,30}){0,30})+c" .s }}`,
	"a usual pattern":          `{{ regexMatch "([0-9a-z]{1,30}[.-]?){1,10}-rc[0-9]" .s }}`,
	"a pattern of the object":  `{{ regexMatch .pattern "aaa" }}`,
	"repeats of the object":    `{{ regexMatch .repeats "aaa" }}`,
	"find all":                 `{{ regexFindAll "a.*b|a" .s -1 }}`,
	"replace all":              `{{ regexReplaceAll "a.*b|a" .s "x" }}`,
	"split":                    `{{ regexSplit "a.*b|a" .s -1 }}`,
	"equality in a loop":       `{{ range .l }}{{ if deepEqual $.a $.b }}{{ end }}{{ end }}`,
	"has in a loop":            `{{ range .l }}{{ if has . $.l }}{{ end }}{{ end }}`,
	"loops in loops":           `{{ range .l }}{{ range $.l }}{{ end }}{{ end }}`,
	"text that doubles":        `{{ $x := "x" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}`,
	"uniq":                     `{{ uniq .a.numbers }}`,
	"Quote in a loop":          `{{ range .l }}{{ Quote $.a }}{{ end }}`,
	"toJson in a loop":         `{{ range .l }}{{ toJson $.a }}{{ end }}`,
}

// evaluator evaluates text on an object, as one of the places where users write expressions. It
// returns the explanation of why the requirement does not hold.
type evaluator func(t *testing.T, text string, obj map[string]any) func() error

func selecting(cel bool) evaluator {
	return func(t *testing.T, text string, obj map[string]any) func() error {
		e := v1alpha1.MatchExpression{JQ: &v1alpha1.SelectorJQ{Key: text, Operator: v1alpha1.SelectorOpExists}}
		if cel {
			e = v1alpha1.MatchExpression{CEL: &v1alpha1.ExpressionCEL{Expression: text}}
		}
		s, err := selector.Compile(&v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{e}}, selector.Options{})
		if err != nil {
			return func() error { return err }
		}
		return func() error {
			r := s.Explain(obj, limitsNow)[0]
			require.Contains(t, r.Path, "matchExpressions[0]")
			return r.Err
		}
	}
}

func expressionFrom(text string, cel bool) *v1alpha1.ExpressionFrom {
	if cel {
		return &v1alpha1.ExpressionFrom{CEL: &v1alpha1.ExpressionCEL{Expression: "string(" + text + ")"}}
	}
	return &v1alpha1.ExpressionFrom{JQ: &v1alpha1.ExpressionJQ{Expression: "(" + text + ") | tostring"}}
}

func delaying(cel bool) evaluator {
	return func(t *testing.T, text string, obj map[string]any) func() error {
		d, err := delay.Compile(&v1alpha1.StageDelay{DurationFrom: expressionFrom(text, cel)}, delay.Options{})
		if err != nil {
			return func() error { return err }
		}
		return func() error { return d.Explain(obj, limitsNow).Parts[0].Err }
	}
}

// weighing and stepping compile a Stage for ConfigMaps, with the text in its weight or its step.
func weighing(cel bool) evaluator {
	return func(t *testing.T, text string, obj map[string]any) func() error {
		from := expressionFrom(text, cel)
		if cel {
			from.CEL.Expression = text
		}
		spec := map[string]any{"weightFrom": from, "next": map[string]any{"delete": true}}
		set, err := compiledStage(spec)
		if err != nil {
			return func() error { return err }
		}
		u := &unstructured.Unstructured{Object: obj}
		return func() error { return set.Explain(u, limitsNow).Stages[0].Weight.Err }
	}
}

func stepping(t *testing.T, text string, obj map[string]any) func() error {
	set, err := compiledStage(map[string]any{"next": map[string]any{"patches": []any{map[string]any{
		"root": "data", "type": "merge", "template": "x: '" + strings.ReplaceAll(text, "'", "''") + "'",
	}}}})
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: obj}
	return func() error { return set.Explain(u, limitsNow).Stages[0].DryRun.Err }
}

func compiledStage(spec map[string]any) (*stage.Set, error) {
	spec["resourceRef"] = map[string]any{"apiGroup": "v1", "kind": "ConfigMap"}
	spec["selector"] = map[string]any{}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": map[string]any{"name": "s"}, "spec": spec,
	})
	if err != nil {
		return nil, err
	}
	return stage.Compile(stage.Options{}, stage.Parse("stage.json", text))
}

func ruling(t *testing.T, text string, obj map[string]any) func() error {
	rules, err := celrule.Compile(celrule.Spec{Kind: "ConfigMap", Current: text})
	if err != nil {
		return func() error { return err }
	}
	profile, u := kstatus.Standard().With(rules), &unstructured.Unstructured{Object: obj}
	return func() error {
		r := profile.Compute(u, limitsNow)
		require.Equal(t, "ExpressionFailed", r.Reason)
		return errors.New(r.Message())
	}
}

func staging(compile func(string) (*staged.Expression, error)) evaluator {
	return func(t *testing.T, text string, obj map[string]any) func() error {
		e, err := compile(text)
		if err != nil {
			return func() error { return err }
		}
		return func() error {
			_, err := e.Eval(map[string]any{"obj": obj, "downsyncClause": obj})
			return err
		}
	}
}

func rendering(t *testing.T, text string, obj map[string]any) func() error {
	tmpl, err := render.Compile(text, render.Options{})
	require.NoError(t, err)
	return func() error {
		_, err := tmpl.Text(render.Input{Object: obj, Now: limitsNow})
		return err
	}
}

// refused is what every error of a limit says; the place is that within the expression, or the
// budget is one of the whole.
var refused = regexp.MustCompile(`cost limit exceeded|size limit exceeded|(step|size) budget of \d+|needs more than \d+|expression too large`)

// slowest is 100 ms on a machine that is twenty times slower than the one that this was written on.
const slowest = 20 * 100 * time.Millisecond

// TestHostileExpressions checks that with the default limits no expression in any place works long
// or fills the memory. It asserts that each expression is refused, which does not depend on the
// machine, and how much memory it takes. The time is printed (-v).
func TestHostileExpressions(t *testing.T) {
	obj := hostileObject()
	for _, group := range []struct {
		name     string
		evaluate evaluator
		texts    []map[string]string
		variable string
	}{
		{"selector/cel", selecting(true), []map[string]string{hostileCEL, hostileStageCEL}, "self"},
		{"delay/cel", delaying(true), []map[string]string{hostileCEL, hostileStageCEL}, "self"},
		{"weight/cel", weighing(true), []map[string]string{hostileCEL, hostileStageCEL}, "self"},
		{"celrule", ruling, []map[string]string{hostileCEL, hostileStageCEL}, "self"},
		{"staged/condition", staging(staged.CompileCondition), []map[string]string{hostileCEL}, "obj"},
		{"staged/filter", staging(staged.CompileFilter), []map[string]string{hostileCEL}, "downsyncClause"},
		{"selector/jq", selecting(false), []map[string]string{hostileJQ}, ""},
		{"delay/jq", delaying(false), []map[string]string{hostileJQ}, ""},
		{"weight/jq", weighing(false), []map[string]string{hostileJQ}, ""},
		{"step", stepping, []map[string]string{hostileTemplates}, ""},
		{"render", rendering, []map[string]string{hostileTemplates}, ""},
	} {
		for _, texts := range group.texts {
			for name, text := range texts {
				t.Run(group.name+"/"+name, func(t *testing.T) {
					evaluate := group.evaluate(t, regexp.MustCompile(`\bV\b`).ReplaceAllString(text, group.variable), obj)
					took, allocated, err := measured(evaluate)
					t.Logf("%v, %.1f MiB: %v", took, float64(allocated)/(1<<20), err)
					require.Error(t, err)
					require.Regexp(t, refused, err.Error())
					if !race.On {
						require.Less(t, allocated, uint64(64<<20))
						require.Less(t, took, slowest)
					}
				})
			}
		}
	}
}

func measured(evaluate func() error) (took time.Duration, allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := processorTime()
	err = evaluate()
	took = processorTime() - start
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc, err
}

// processorTime is the processor time of this thread, which other programs do not change.
func processorTime() time.Duration {
	const thisThread = 1
	var u syscall.Rusage
	_ = syscall.Getrusage(thisThread, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
