package expression_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/jq"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

var anything = []*types.Type{
	types.BoolType, types.StringType, types.IntType, types.UintType, types.DoubleType, types.DurationType, types.TimestampType,
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func pod() map[string]any {
	return map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name": "web", "generation": int64(2), "creationTimestamp": "2026-11-20T11:59:30Z",
			"labels": map[string]any{"b": "2", "a": "1", "d": "4", "c": "3"},
			"typed":  map[string]string{"a": "1"}, "finalizers": []string{"x", "y"},
		},
		"spec": map[string]any{
			"float": 2.0, "number": json.Number("3"), "int32": int32(4), "uint8": uint8(5),
			"containers": []any{map[string]any{"name": "app", "args": []any{"sleep", "10s"}}},
			"maps":       []map[string]any{{"n": json.Number("1.5")}},
		},
		"status": map[string]any{
			"phase": "Running",
			"conditions": []any{
				map[string]any{"type": "Initialized", "status": "True"},
				map[string]any{"type": "Ready", "status": "True"},
			},
		},
	}
}

func TestCELValue(t *testing.T) {
	cases := map[string]struct {
		source string
		want   any
	}{
		"a string":                              {`self.status.phase`, "Running"},
		"a bool":                                {`self.status.phase == "Running"`, true},
		"an int64 is an int":                    {`self.metadata.generation + 1`, int64(3)},
		"a float64 is a double":                 {`self.spec.float`, 2.0},
		"a json.Number is a number":             {`self.spec.number + 1`, int64(4)},
		"a json.Number in a typed list":         {`self.spec.maps[0].n`, 1.5},
		"other Go integers are ints":            {`self.spec.int32 + self.metadata.generation`, int64(6)},
		"a typed map is a map":                  {`self.metadata.typed.a`, "1"},
		"a typed list is a list":                {`self.metadata.finalizers[1]`, "y"},
		"numbers of different types compare":    {`self.spec.float == 2 && self.spec.number > 2.5`, true},
		"has tells what is there":               {`has(self.status.podIP)`, false},
		"an optional that is missing":           {`self.?status.?podIP.orValue("none")`, "none"},
		"an optional that is there":             {`self.?status.?phase.orValue("none")`, "Running"},
		"exists over conditions":                {`self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`, true},
		"a key that needs quotes":               {`self.metadata.labels["a"]`, "1"},
		"maps are iterated in order":            {`self.metadata.labels.map(k, k).join()`, "abcd"},
		"map literals are iterated in order":    {`{"d": 1, "b": 2, "a": 3, "c": 4}.map(k, k).join("")`, "abcd"},
		"two variables, in order":               {`self.metadata.labels.transformList(k, v, k + v).join(" ")`, "a1 b2 c3 d4"},
		"made maps are iterated in order":       {`self.metadata.labels.transformMap(k, v, v).map(k, k).join()`, "abcd"},
		"strings extension":                     {`"a-b".split("-")[1].upperAscii()`, "B"},
		"our replace":                           {`"a-b-c".replace("-", "")`, "abc"},
		"our replace counts":                    {`"a-b-c".replace("-", "+", 1)`, "a+b-c"},
		"our replace of nothing":                {`"ab".replace("", ".")`, ".a.b."},
		"join with a separator":                 {`["a", "b"].join(", ")`, "a, b"},
		"lists extension":                       {`[3, 1, 2].sort()[0]`, int64(1)},
		"math extension":                        {`math.greatest(1, 2)`, int64(2)},
		"sets extension":                        {`sets.contains([1, 2], [1])`, true},
		"encoders extension":                    {`string(base64.decode("aGk="))`, "hi"},
		"literals of mixed types":               {`[1, "a"].size()`, int64(2)},
		"a duration":                            {`duration("5s")`, 5 * time.Second},
		"a timestamp":                           {`timestamp("2026-11-20T12:00:00Z")`, noon},
		"a uint":                                {`3u`, uint64(3)},
		"Now is the time of the Scope":          {`Now()`, noon},
		"Now in arithmetic":                     {`Now() - timestamp(self.metadata.creationTimestamp)`, 30 * time.Second},
		"Now inside a macro":                    {`[1].map(x, Now())[0]`, noon},
		"UnixSecond":                            {`UnixSecond(Now())`, float64(noon.Unix())},
		"UnixSecond as a method":                {`Now().UnixSecond() == UnixSecond(Now())`, true},
		"SinceSecond":                           {`SinceSecond(self)`, 30.0},
		"SinceSecond as a method":               {`self.SinceSecond() > 29.5`, true},
		"quantities add":                        {`Quantity("1Gi") + Quantity("1Mi") == Quantity("1025Mi")`, true},
		"quantities subtract":                   {`Quantity("1") - Quantity("100m") == Quantity("900m")`, true},
		"a quantity negated":                    {`-Quantity("1") < Quantity("0")`, true},
		"a quantity times an int":               {`Quantity("100m") * 3 == Quantity("300m")`, true},
		"a quantity times a double":             {`Quantity("1") * 0.5 == Quantity("500m")`, true},
		"a quantity over a uint":                {`Quantity("1") / 4u == Quantity("250m")`, true},
		"quantities compare":                    {`Quantity("1Gi") > Quantity("1G") && Quantity("1") <= Quantity("1000m") && Quantity("2") >= "1".Quantity()`, true},
		"quantities differ":                     {`Quantity("1") != Quantity("2")`, true},
		"a quantity in a dynamic place":         {`[Quantity("1"), 1][0] == Quantity("1")`, true},
		"a variable of a macro may be named so": {`[1].exists(self, self == 1)`, true},
	}
	c := expression.NewCompiler(expression.Options{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := c.CEL(tc.source, anything...)
			require.NoError(t, err)
			s := expression.NewScope(pod(), noon)
			for range 2 {
				got, err := p.Value(s)
				require.NoError(t, err)
				require.Equal(t, tc.want, got)
			}
			require.Equal(t, pod(), s.Object, "the object is read only")
		})
	}
}

func TestCELRunTimeErrors(t *testing.T) {
	cases := map[string]string{
		"a missing key":                     `self.status.podIP == ""`,
		"a type that does not fit":          `self.status.phase > 1`,
		"a result that is no bool":          `self.status.phase`,
		"a map as the result":               `self.status`,
		"a division by zero":                `Quantity("1") / 0 == Quantity("1")`,
		"a quantity that is none":           `Quantity("x") == Quantity("1")`,
		"a quantity that takes for ever":    `Quantity("1e999999999") > Quantity("1")`,
		"not a number in a quantity":        `Quantity("1") * double("NaN") == Quantity("1")`,
		"no creation time":                  `SinceSecond(self.status) > 0.0`,
		"the age of a string":               `self.kind.SinceSecond() > 0.0`,
		"join of what is no string":         `[self.spec.float].join() == ""`,
		"an index out of range":             `self.status.conditions[9].type == ""`,
		"a regular expression out of order": `"a".matches(self.status.phase + "(")`,
	}
	c := expression.NewCompiler(expression.Options{})
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := c.CEL(source, anything...)
			require.NoError(t, err)
			ok, err := p.Bool(expression.NewScope(pod(), noon))
			require.Error(t, err)
			require.False(t, ok)
		})
	}
	p, err := c.CEL("self", anything...)
	require.NoError(t, err)
	_, err = p.Value(expression.NewScope(nil, noon))
	require.EqualError(t, err, "the result is map, not a single value")
}

func TestCELFaults(t *testing.T) {
	cases := map[string]struct {
		source string
		want   []*types.Type
		token  string // where the fault is; the fault is at the end if empty
		says   string
	}{
		"an undeclared name":            {`slf.status`, anything, "slf", "undeclared reference to 'slf'"},
		"a name after wide characters":  {`"é世" == slf.x`, anything, "slf", "undeclared reference"},
		"a name on the second line":     {"true &&\n  \"é\" == slf.x", anything, "slf", "undeclared reference"},
		"one equals sign":               {`self.status.phase = "Running"`, anything, "=", "Syntax error"},
		"an open parenthesis":           {`duration("5s"`, anything, "", "Syntax error"},
		"an operator that has no types": {`1 + "a"`, anything, "+", "no matching overload"},
		"a result that is not wanted":   {`"a"`, []*types.Type{types.BoolType}, `"a"`, "the result is string, not bool"},
		"a null result":                 {`null`, []*types.Type{types.BoolType, types.IntType}, "null", "the result is null_type, not bool or int"},
		"a quantity as the result":      {`Quantity("1")`, anything, "Quantity", "the result is kubernetes.Quantity"},
		"an empty expression":           {``, anything, "", "empty expression"},
		"the seed is not to be read":    {`@rand > 0.5`, anything, "@", "Syntax error"},
		"a variable of others":          {`obj.x`, anything, "obj", "undeclared reference"},
	}
	c := expression.NewCompiler(expression.Options{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.CEL(tc.source, tc.want...)
			at, ok := errors.AsType[*position.Error](err)
			require.True(t, ok, "%v", err)
			require.Empty(t, at.Path)
			require.ErrorContains(t, at, tc.says)
			offset := len(tc.source)
			if tc.token != "" {
				offset = strings.Index(tc.source, tc.token)
			}
			require.Equal(t, offset, at.Offset)
		})
	}
}

func TestCELFaultsAreReportedTogether(t *testing.T) {
	_, err := expression.NewCompiler(expression.Options{}).CEL("a.x == b.y", anything...)
	require.ErrorContains(t, err, "'a'")
	require.ErrorContains(t, err, "'b'")
}

func TestRandIsDrawnFromTheSeed(t *testing.T) {
	c := expression.NewCompiler(expression.Options{})
	p, err := c.CEL(`Rand()`, types.DoubleType)
	require.NoError(t, err)
	two, err := c.CEL(`Rand() != Rand() && [1, 2, 3].map(x, Rand()).distinct().size() == 3`, types.BoolType)
	require.NoError(t, err)

	s, sum, seen := expression.NewScope(nil, noon), 0.0, map[any]bool{}
	for seed := range uint64(1000) {
		s.Seed = seed
		v, err := p.Value(s)
		require.NoError(t, err)
		again, _ := p.Value(s)
		require.Equal(t, v, again, "the same seed, the same number")
		require.True(t, 0 <= v.(float64) && v.(float64) < 1)
		sum, seen[v] = sum+v.(float64), true
		differ, err := two.Bool(s)
		require.NoError(t, err)
		require.True(t, differ)
	}
	require.Len(t, seen, 1000)
	require.InDelta(t, 500, sum, 50)
}

func TestCELVariables(t *testing.T) {
	c := expression.NewCompiler(expression.Options{}, "combinedStatus", "obj")
	p, err := c.CEL(`combinedStatus.n == obj.n`, types.BoolType)
	require.NoError(t, err)
	_, err = c.CEL(`other.n`, types.BoolType)
	require.ErrorContains(t, err, "undeclared reference to 'other'")

	s := expression.NewScope(nil, noon)
	_, err = p.Bool(s)
	require.Error(t, err, "a variable without a value")
	s.Values = map[string]any{"combinedStatus": map[string]any{"n": 1}, "obj": map[string]any{"n": 1.0}}
	same, err := p.Bool(s)
	require.NoError(t, err)
	require.True(t, same)
}

// TestCELEnds runs what would take all memory or all time.
func TestCELEnds(t *testing.T) {
	doubled := func(n int, seed, body string) string {
		return strings.Repeat("[", n) + seed + strings.Repeat("].map(a, "+body+")[0]", n)
	}
	cases := map[string]string{
		"a string doubled":        doubled(40, `"x"`, "a + a") + ` == ""`,
		"a list doubled":          doubled(40, `[1]`, "a + a") + ` == []`,
		"an empty list doubled":   doubled(60, `[]`, "a + a") + ` == [1]`,
		"a list shared":           doubled(40, `[1]`, "[a, a]") + ` == ` + doubled(40, `[1]`, "[a, a]"),
		"loops in loops":          `lists.range(100000).all(a, lists.range(100000).all(b, a + b >= 0))`,
		"a long range":            `lists.range(1000000000).size() == 0`,
		"replace in replace":      `lists.range(10000).map(a, "aaaaaaaaaaaaaaaa").join().replace("a", lists.range(10000).map(a, "aaaaaaaaaaaaaaaa").join()) == ""`,
		"join of one long string": `lists.range(10000).map(a, lists.range(100000).map(b, "aaaaaaaaaa").join()).join() == ""`,
	}
	c := expression.NewCompiler(expression.Options{})
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := c.CEL(source, types.BoolType)
			if err != nil {
				return
			}
			start := time.Now()
			ok, err := p.Bool(expression.NewScope(pod(), noon))
			require.Less(t, time.Since(start), 20*time.Second)
			require.False(t, ok && err == nil)
			_, again := p.Bool(expression.NewScope(pod(), noon))
			require.Equal(t, err == nil, again == nil)
			if err != nil {
				require.EqualError(t, again, err.Error(), "at the same point everywhere")
			}
		})
	}
}

func TestCompilerIsSafeForConcurrentUse(t *testing.T) {
	c := expression.NewCompiler(expression.Options{})
	shared := pod()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			p, err := c.CEL(`self.metadata.labels.exists(k, k == "a")`, types.BoolType)
			require.NoError(t, err)
			for range 50 {
				s := expression.NewScope(shared, noon)
				ok, err := p.Bool(s)
				require.NoError(t, err)
				require.True(t, ok)
			}
		})
	}
	wg.Wait()
}

func TestReads(t *testing.T) {
	obj := map[string]any{
		"status":   map[string]any{"phase": "Running", "conditions": []any{}},
		"metadata": map[string]any{"annotations": map[string]any{"a/b": "x"}},
	}
	for source, want := range map[string][]any{
		`self.status.phase == "Running"`:                                {"Running"},
		`self.status.phase == "a" || self.status.phase == "b"`:          {"Running"},
		`self.nope.phase == self.status.phase`:                          {nil, "Running"},
		`self.metadata.annotations["a/b"] == "x"`:                       {"x"},
		`has(self.status.podIP) && self.status.phase != ""`:             {nil, "Running"},
		`self.?status.?phase.orValue("") == ""`:                         {"Running"},
		`self.status.conditions.exists(c, c.type == self.status.phase)`: {[]any{}, "Running"},
		`1 < 2`: {},
	} {
		p, err := expression.NewCompiler(expression.Options{}).CEL(source, types.BoolType)
		require.NoError(t, err)
		require.Equal(t, want, p.Reads(expression.NewScope(obj, time.Time{})), source)
	}
}

func TestCELNumbersOfAnyKind(t *testing.T) {
	for _, n := range []any{7, int8(7), int16(7), int32(7), int64(7), uint(7), uint8(7), uint16(7), uint32(7), uint64(7), float32(7), 7.0, json.Number("7")} {
		p, err := expression.NewCompiler(expression.Options{}).CEL("self.n == 7 && self.list.all(x, x == 7)", types.BoolType)
		require.NoError(t, err)
		ok, err := p.Bool(expression.NewScope(map[string]any{"n": n, "list": []any{n}}, noon))
		require.NoError(t, err)
		require.True(t, ok, "%T", n)
	}
}

func FuzzCompileCEL(f *testing.F) {
	for _, source := range []string{"", "self.a", "self.é", "a(", `"é" + x`, "self.l.exists(x, x == 1)"} {
		f.Add(source)
	}
	c := expression.NewCompiler(expression.Options{CELCost: 1000})
	f.Fuzz(func(t *testing.T, source string) {
		s := expression.NewScope(pod(), noon)
		q, err := c.CEL(source, anything...)
		if err == nil {
			_, _ = q.Value(s)
		} else {
			at, ok := errors.AsType[*position.Error](err)
			require.True(t, ok, "%v", err)
			require.True(t, -1 <= at.Offset && at.Offset <= len(source), "%d in %q", at.Offset, source)
		}
		require.Equal(t, pod(), s.Object, "the object is read only")
	})
}

func TestOptionsAddFunctions(t *testing.T) {
	c := expression.NewCompiler(expression.Options{CELOptions: []cel.EnvOption{cel.Function("twice",
		cel.Overload("twice_int", []*cel.Type{cel.IntType}, cel.IntType, cel.UnaryBinding(func(v ref.Val) ref.Val { return v.(types.Int) * 2 })))}})
	p, err := c.CEL("twice(self.metadata.generation) == 4", types.BoolType)
	require.NoError(t, err)
	ok, err := p.Bool(expression.NewScope(pod(), noon))
	require.NoError(t, err)
	require.True(t, ok)

	taken := cel.Function("size", cel.Overload("my_size", []*cel.Type{cel.StringType}, cel.IntType))
	_, err = expression.NewCompiler(expression.Options{CELOptions: []cel.EnvOption{taken}}).CEL("true", anything...)
	require.ErrorContains(t, err, "collision")
}

func TestAScopeCanBeUsedAgain(t *testing.T) {
	c := expression.NewCompiler(expression.Options{})
	native, err := c.JQ(`.a`)
	require.NoError(t, err)
	other, err := c.JQ(`.a as $x | $x`)
	require.NoError(t, err)
	s := expression.NewScope(map[string]any{"a": int64(1)}, noon)
	for i := range int64(3) {
		s.Reset(map[string]any{"a": i}, noon)
		for _, p := range []*jq.Program{native, other} {
			got, err := p.Run(s.JQ())
			require.NoError(t, err)
			require.Equal(t, []any{i}, got)
		}
	}
}

// TestDeclaredFunctionsNeedNoImplementation: a call of one is an error like any other.
func TestDeclaredFunctionsNeedNoImplementation(t *testing.T) {
	c := expression.NewCompiler(expression.Options{CELOptions: []cel.EnvOption{
		cel.Function("declared",
			cel.Overload("declared_any", []*cel.Type{cel.DynType}, cel.BoolType),
			cel.Overload("declared_any_any", []*cel.Type{cel.DynType, cel.DynType}, cel.BoolType),
			cel.Overload("declared_three", []*cel.Type{cel.DynType, cel.DynType, cel.DynType}, cel.BoolType)),
	}})
	for _, source := range []string{"declared(self)", "declared(self, 1)", "declared(1, 2, self.kind)"} {
		p, err := c.CEL(source, types.BoolType)
		require.NoError(t, err)
		_, err = p.Bool(expression.NewScope(pod(), noon))
		require.ErrorContains(t, err, "no such overload: declared")
	}
}
