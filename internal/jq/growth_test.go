package jq

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
)

// growing are programs whose work is in one call, on a text s, lists l and t and an object o that
// grow.
var growing = []string{
	`.s | test("(a{0,9})+c")`, `.s | test("b$"; "i")`, `.s | match("a.*b|a") | .length`, `[.short | match("a.*b|a"; "g")] | length`,
	`[.short | scan("a.*b|a")] | length`, `[.short | splits("a.*b|a")] | length`, `.short | gsub("a.*b|a"; "x") | length`,
	`.o == .p`, `.l == .m`, `.s == .u`, `.l - .m | length`, `.s + .u | length`, `.s * 3 | length`, `.s / "a" | length`,
	`.l | sort | length`, `.l | unique | length`, `.t | group_by(.) | length`, `.t | sort_by(.) | length`, `.l | min`, `.l | add`,
	`.o | tojson | length`, `.o | tostring | length`, `.l | reverse | length`, `.t | join("-") | length`, `.l | index(-1)`, `.s | index("b")`,
	`.s | contains("b")`, `.t | contains(["z"])`, `.s | split("a") | length`, `.s | ascii_upcase | length`, `.s | explode | length`,
	`.s | @base64 | length`, `.t | @csv | length`, `.s | ltrimstr("b") | length`, `.o | keys | length`, `[.l, .m] | transpose | length`,
	`.l | flatten | length`, `.s | length`, `.o | to_entries | length`, `.l | map(. + 1) | length`, `[.l[] | select(. > 1)] | length`,
}

func grown(n int) map[string]any {
	s := strings.Repeat("a", 50*n)
	o, p := map[string]any{}, map[string]any{}
	var l, m, t []any
	for i := range n {
		l, m = append(l, int64(i*7919%n)), append(m, int64(i*7919%n))
		t = append(t, strings.Repeat("a", 9)+string(rune('b'+i%20)))
		o[strings.Repeat("a", 1+i/20)+string(rune('b'+i%20))], p[strings.Repeat("a", 1+i/20)+string(rune('b'+i%20))] = int64(i), int64(i)
	}
	return map[string]any{"s": s, "u": strings.Clone(s), "short": s[:n], "o": o, "p": p, "l": l, "m": m, "t": t}
}

// TestWorkGrowsNoFasterThanItsCharge makes inputs ten times as large. It compares the growth of the
// processor time of a program with the growth of its charge in steps and bytes.
func TestWorkGrowsNoFasterThanItsCharge(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	const limit = 1 << 40
	small, large := &Input{Object: grown(100)}, &Input{Object: grown(1000)}
	for _, source := range growing {
		p, err := Compile(source, Options{Steps: limit, Size: limit})
		require.NoError(t, err, source)
		if p.native != nil {
			continue // no call
		}
		spent := func(in *Input) (charge float64, took time.Duration) {
			_, err := p.Run(in) // converts the object
			require.NoError(t, err, source)
			took = time.Hour
			for range 3 {
				start := processorTime()
				_, err = p.Run(in)
				took = min(took, processorTime()-start)
				require.NoError(t, err, source)
			}
			return float64(limit-in.budget.size) + 160*float64(limit-in.budget.steps), took
		}
		var charged, worked float64
		for range 5 { // a busy machine makes single measurements longer, and never all of them
			before, first := spent(small)
			after, second := spent(large)
			if second < time.Millisecond {
				worked = 0 // too short to be told from noise
				break
			}
			charged, worked = after/before, float64(second)/float64(max(first, 50*time.Microsecond))
			t.Logf("%-40s %.1f ns a byte; charged %.1f times, worked %.1f times", source, float64(second)/after, charged, worked)
			if worked < 4*charged+4 {
				break
			}
		}
		require.LessOrEqual(t, worked, 4*charged+4, source)
	}
}

// processorTime is the processor time of this program.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
