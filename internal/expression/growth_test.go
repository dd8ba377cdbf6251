package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	googlecel "github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
)

// operations are expressions for each function of CEL in Stages and for each form of CEL, on texts
// s, u and k that are long, lists l, m and t, objects o and p. Their results do not matter.
var operations = map[string][]string{
	"_+_": {`self.s + self.u == ""`, `self.l + self.m == []`, `bytes(self.s) + b"x" == b""`}, "-_": {`-size(self.l) == 1`}, "_-_": {`size(self.l) - 1 == 1`},
	"_*_": {`Quantity("1e99") * 3 == Quantity("1")`}, "_/_": {`Quantity("1e99") / 3 == Quantity("1")`}, "_%_": {`size(self.l) % 3 == 1`},
	"_==_": {`self.s == self.u`, `self.o == self.p`, `self.l == self.m`}, "_!=_": {`self.t != self.t`}, "_<_": {`self.s < self.u`, `bytes(self.s) < b"b"`}, "_<=_": {`self.s <= self.u`},
	"_>_": {`self.s > self.u`}, "_>=_": {`self.s >= self.u`}, "@in": {`-1 in self.l`, `self.k in self.o`, `self.k in self.t`}, "_[_]": {`self.o[self.k] == 1`, `self.l[size(self.l) - 1] == 1`},
	"_[?_]": {`self.o[?self.k].hasValue()`, `self.l[?5].hasValue()`}, "_?._": {`self.?zz.hasValue()`}, "{}": {`{self.k: 1} == {}`, `[self.s] == []`},
	"base64.decode": {`base64.decode(self.s) == b""`}, "base64.encode": {`base64.encode(bytes(self.s)) == ""`}, "bool": {`bool(self.s)`}, "bytes": {`bytes(self.s) == b""`},
	"charAt": {`self.s.charAt(1) == ""`, `self.s.charAt(self.n) == ""`}, "contains": {`self.s.contains("b")`, `self.s.contains(self.k)`}, "startsWith": {`self.s.startsWith(self.u)`},
	"endsWith": {`self.s.endsWith(self.u)`}, "distinct": {`self.l.distinct() == []`, `self.t.distinct() == []`}, "sort": {`self.l.sort() == []`, `self.t.sort() == []`},
	"@sortByAssociatedKeys": {`self.l.sortBy(x, -x) == []`, `self.t.sortBy(x, x) == []`}, "double": {`double(self.s) == 1.0`}, "int": {`int(self.s) == 1`, `int(self.digits) == 1`},
	"uint": {`uint(self.s) == 1u`}, "string": {`string(self.s) == ""`, `string(bytes(self.s)) == ""`}, "duration": {`duration(self.s) == duration("1s")`, `duration(self.digits + "h") == duration("1s")`},
	"timestamp": {`timestamp(self.s) == timestamp("2020-01-01T00:00:00Z")`}, "dyn": {`dyn(self.l) == []`}, "type": {`type(self.o) == map`},
	"first": {`self.l.first().hasValue()`}, "last": {`self.l.last().hasValue()`}, "flatten": {`[self.l, self.m].flatten() == []`, `self.d.flatten(1000) == []`},
	"format": {`"%s".format([self.o]) == ""`, `"%s".format([self.s]) == ""`, `"%x".format([self.s]) == ""`, `"%X".format([bytes(self.s)]) == ""`, `"%.100f".format([1e300]) == ""`,
		`("%.100" + "000f").format([1.5]) == ""`, `"%.100e".format([1.5]) == ""`, `self.s.format([]) == ""`, `"%s%s%s%s".format([self.s, self.s, self.s, self.s]) == ""`, `"%b".format([1]) == ""`},
	"getDate": {tz("getDate")}, "getDayOfMonth": {tz("getDayOfMonth")}, "getDayOfWeek": {tz("getDayOfWeek")}, "getDayOfYear": {tz("getDayOfYear")}, "getFullYear": {tz("getFullYear")},
	"getHours": {tz("getHours"), `timestamp("2020-01-01T00:00:00Z").getHours(self.s) == 0`, `timestamp("2020-01-01T00:00:00Z").getHours("nowhere") == 0`}, "getMilliseconds": {tz("getMilliseconds")}, "getMinutes": {tz("getMinutes")}, "getMonth": {tz("getMonth")}, "getSeconds": {tz("getSeconds")},
	"indexOf": {`self.s.indexOf("ab") == 0`, `"".indexOf(self.s) == 0`, `self.s.indexOf("b", 3) == 0`}, "lastIndexOf": {`self.s.lastIndexOf("ba") == 0`, `"".lastIndexOf(self.s) == 0`},
	"join": {`self.t.join("-") == ""`, `self.few.join(self.s) == ""`}, "json.encode": {`json.encode(self.o) == ""`, `json.encode(self.s) == ""`}, "lists.range": {`lists.range(self.n) == []`},
	"lowerAscii": {`self.s.lowerAscii() == ""`}, "upperAscii": {`self.s.upperAscii() == ""`}, "matches": {`self.s.matches("(a{0,9})+c")`, `self.s.matches("b$")`, `"a".matches(self.s)`, `"a".matches(self.few[0])`},
	"math.@max": {`math.greatest(self.l) == 1`}, "math.@min": {`math.least(self.l) == 1`}, "optional.ofNonZeroValue": {`optional.ofNonZeroValue(self.o).hasValue()`},
	"optional.unwrap": {`[optional.of(1), optional.none()].unwrapOpt() == []`, `optional.unwrap([optional.of(self.s)]) == []`}, "unwrapOpt": {`[optional.of(1)].unwrapOpt() == []`},
	"replace": {`self.s.replace("a", "bb") == ""`, `self.s.replace("", "-") == ""`, `self.s.replace("", "-", 1) == ""`, `self.s.replace(self.k, self.k) == ""`},
	"reverse": {`self.s.reverse() == ""`, `self.l.reverse() == []`}, "sets.contains": {`sets.contains(self.l, self.m)`}, "sets.equivalent": {`sets.equivalent(self.t, self.t)`}, "sets.intersects": {`sets.intersects(self.l, [-1])`},
	"size": {`size(self.s) == 0`, `size(self.l) == 0`, `size(self.o) == 0`}, "slice": {`self.l.slice(1, size(self.l)) == []`}, "split": {`self.s.split("a") == []`, `self.s.split("") == []`, `self.s.split(self.k) == []`, `self.s.split("", 2) == []`},
	"strings.quote": {`strings.quote(self.s) == ""`}, "substring": {`self.s.substring(1) == ""`, `self.s.substring(self.n) == ""`, `self.s.substring(1, 2) == ""`}, "trim": {`self.s.trim() == ""`, `self.spaces.trim() == ""`},
	"Quantity": {`Quantity(self.s) == Quantity("1")`, `Quantity("1e999") == Quantity("1")`, `Quantity(self.digits) == Quantity("1")`}, "@since": {`self.SinceSecond() > 1.0`}, "UnixSecond": {`Now().UnixSecond() > 1.0`},
	"cel.@mapInsert": {`self.l.transformMap(i, x, x) == {}`, `self.o.transformMapEntry(k, x, {k: x}) == {}`}, "macros": {`self.l.all(x, x in self.few)`, `self.l.exists(x, x < 0)`, `self.l.map(x, x + 1) == []`, `self.l.filter(x, x > 1) == []`,
		`self.o.exists(k, k == "")`, `self.o.all(k, true)`, `self.l.exists_one(x, x == 1)`, `self.l.transformList(i, x, x) == []`, `has(self.zz)`, `self.o.exists(k, true)`, `self.l.exists(k, true)`},
}

func tz(name string) string {
	return `timestamp("2020-01-01T00:00:00Z").` + name + `("Europe/Berlin") == 0`
}

// constantWork are the functions whose work does not depend on the size of a value.
var constantWork = strings.Fields(`!_ @not_strictly_false __not_strictly_false__ _?_:_ _&&_ _||_ math.abs math.bitAnd math.bitNot math.bitOr math.bitShiftLeft math.bitShiftRight math.bitXor
	math.ceil math.floor math.isFinite math.isInf math.isNaN math.round math.sign math.sqrt math.trunc optional.none optional.of or orValue hasValue value _in_ in`)

// TestEveryFunctionIsMeasured takes the functions from the libraries. A function that a new version
// has needs a row of the tables above, and a cost if it does more than read its arguments once.
func TestEveryFunctionIsMeasured(t *testing.T) {
	env, err := googlecel.NewEnv(library()...)
	require.NoError(t, err)
	require.Greater(t, len(env.Functions()), 100)
	rows := slices.Concat(slices.Collect(maps.Keys(operations)), constantWork)
	for name := range env.Functions() {
		require.Contains(t, rows, name)
	}
}

func grown(n int, char string) map[string]any {
	if char == `\xff` {
		char = "\xff"
	}
	s := strings.Repeat(char, 50*n)
	o, p := map[string]any{}, map[string]any{}
	var l, m, names []any
	for i := range n {
		l, m = append(l, int64(i*7919%n)), append(m, int64(i*7919%n))
		names = append(names, strings.Repeat(char, 9)+string(rune('b'+i%20)))
		key := strings.Repeat("a", 1+i/20%50) + fmt.Sprint(i)
		o[key], p[key] = int64(i), int64(i)
	}
	var deep any = int64(1)
	for range min(n/4, 200) {
		deep = []any{deep, int64(1)}
	}
	return map[string]any{"s": s, "u": strings.Clone(s), "k": s + "k", "o": o, "p": p, "l": l, "m": m, "t": names, "n": int64(n), "d": deep,
		"few": []any{"a", "b", "(a{0,30})+c"}, "spaces": strings.Repeat(" ", 50*n), "digits": strings.Repeat("9", 50*n), "metadata": map[string]any{"creationTimestamp": s}}
}

// The bounds are those of a step on the machine on which this was written.
const (
	timeOfStep  = 700 * time.Nanosecond
	bytesOfStep = 800
)

func requireBounded(t *testing.T, c *cel.Compiler, source string, obj map[string]any) {
	t.Helper()
	text := fmt.Sprintf(`lists.range(10).all(i, [%s].size() == 1)`, source)
	spent, steps := evaluated(c, text, NewScope(obj, time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)), 2)
	require.NotZero(t, steps, source)
	perStep, allocated := float64(spent.Time)/steps, float64(spent.Bytes)/steps
	t.Logf("%7.0f ns and %6.0f bytes a step, of %.0f: %.90s", perStep, allocated, steps, source)
	require.LessOrEqual(t, allocated, float64(bytesOfStep), source)
	require.LessOrEqual(t, perStep, float64(work.Slack*timeOfStep), source)
}

// TestWorkGrowsNoFasterThanItsCharge evaluates every operation on texts of characters of one, two
// and three bytes, and of bytes that are no character.
func TestWorkGrowsNoFasterThanItsCharge(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	c, err := newCEL(Options{}, 0, nil)
	require.NoError(t, err)
	for _, char := range effort.Some(chars) {
		for _, n := range []int{20, 1500} {
			obj := grown(n, char)
			for _, name := range slices.Sorted(maps.Keys(operations)) {
				for _, source := range operations[name] {
					requireBounded(t, c, source, obj)
				}
			}
		}
	}
}
