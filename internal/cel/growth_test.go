package cel

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
)

// growing are calls of every function whose work is more than constant, on texts s and t, lists l
// and m and an object o that grow.
var growing = []string{
	`self.o == self.p`, `self.o != self.p`, `self.l == self.m`, `self.s == self.t`, `self.s < self.t`, `-1 in self.l`, `self.o in [self.p]`,
	`self.s in self.names`, `self.s + self.t == ""`, `self.l + self.m == []`, `size(self.s) == 0`, `self.s.contains("b")`,
	`self.s.startsWith(self.t)`, `self.s.endsWith("b" + self.t)`, `self.s.matches("(a{0,9})+c")`, `self.s.matches("b$")`,
	`self.l.exists(x, x < 0)`, `self.l.all(x, x in self.few)`, `self.l.map(x, x + 1) == []`, `self.l.filter(x, x > 1) == []`,
	`self.o.exists(k, k == "")`, `self.l.exists(x, [x] == [-1])`, `self.l.map(x, {"a": x}) == []`,
	`sets.contains(self.l, self.m)`, `sets.equivalent(self.l, self.m)`, `sets.intersects(self.l, [-1])`,
	`self.l.distinct() == []`, `self.l.sort() == []`, `self.names.sort() == []`, `self.l.sortBy(x, -x) == []`, `self.l.reverse() == []`,
	`self.l.slice(1, size(self.l)) == []`, `[self.l, self.m].flatten() == []`, `lists.range(size(self.l)) == []`,
	`self.s.replace("a", "bb") == ""`, `self.s.replace("", "-") == ""`, `self.names.join("-") == ""`, `self.s.split("") == []`, `self.s.split("a") == []`,
	`self.s.indexOf("ab") == 0`, `self.s.lastIndexOf("ba") == 0`, `self.s.upperAscii() == ""`, `self.s.lowerAscii() == ""`, `self.s.trim() == ""`,
	`self.s.reverse() == ""`, `self.s.substring(1) == ""`, `self.s.charAt(1) == ""`, `strings.quote(self.s) == ""`, `"%s".format([self.o]) == ""`,
	`base64.encode(bytes(self.s)) == ""`, `string(bytes(self.s)) == ""`, `double(self.s) == 1.0`, `self.l.transformMap(i, x, x) == {}`,
	`self.l.transformList(i, x, x) == []`,
}

func grown(n int) variables {
	v := variables{"s": strings.Repeat("a", 50*n), "t": strings.Repeat("a", 50*n), "few": []any{int64(-1), int64(-2), int64(-3)}}
	var l, m, names []any
	o, p := map[string]any{}, map[string]any{}
	for i := range n {
		l, m = append(l, int64(i*7919%n)), append(m, int64(i*7919%n))
		name := strings.Repeat("a", 10) + string(rune('a'+i%26)) + strings.Repeat("b", i%7)
		names = append(names, name)
		o[name+strings.Repeat("c", i/182)], p[name+strings.Repeat("c", i/182)] = []any{int64(i)}, []any{int64(i)}
	}
	v["l"], v["m"], v["names"], v["o"], v["p"] = l, m, names, o, p
	return v
}

// TestWorkGrowsNoFasterThanItsCharge makes inputs ten times as large. It compares the growth of the
// processor time of an evaluation with the growth of its charge. Twice the charge is noise; what is
// wrong is ten times as much.
func TestWorkGrowsNoFasterThanItsCharge(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	c := testCompiler(t, Options{Cost: 1 << 40, Size: 1 << 30, Library: []cel.EnvOption{
		ext.Strings(), ext.Lists(), ext.Sets(), ext.Encoders(), ext.TwoVarComprehensions(),
	}})
	small, large := grown(300), grown(3000)
	for _, source := range growing {
		p, err := c.Compile(source)
		require.NoError(t, err, source)
		var charged, worked float64
		for range 5 { // a busy machine makes single measurements longer, and never all of them
			before, first := spent(p, small)
			after, second := spent(p, large)
			if second < 2*time.Millisecond {
				worked = 0 // too short to be told from noise
				break
			}
			charged, worked = float64(after)/float64(before), float64(second)/float64(max(first, 50*time.Microsecond))
			t.Logf("%-40s %8d steps, %6.0f ns a step; charged %.1f times, worked %.1f times", source, after, float64(second)/float64(after), charged, worked)
			if worked < 4*charged+4 {
				break
			}
		}
		require.LessOrEqual(t, worked, 4*charged+4, source)
	}
}

// spent is what an evaluation costs and the shortest time that it took.
func spent(p *Program, v variables) (steps int, took time.Duration) {
	var all []time.Duration
	for range 3 {
		b := &budget{Activation: v, left: 1 << 40, size: 1 << 30}
		start := processorTime()
		_, _, _ = p.program.Eval(b)
		all = append(all, processorTime()-start)
		steps = 1<<40 - b.left
	}
	return max(1, steps), slices.Min(all)
}

// processorTime is the processor time of this program.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
