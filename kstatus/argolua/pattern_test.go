package argolua_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"github.com/stagecraft-go/stagecraft/kstatus/argolua"
)

// pieces are what patterns are made of.
var pieces = []string{
	"a", "b", "1", ".", "%a", "%d", "%w", "%s", "%D", "%p", "[ab]", "[^a]", "[a-c1]", "%.", "*", "+", "-", "?", "(", ")", "()",
	"^", "$", "%b()", "%1", "[%d]", "]", "%%",
}

// TestPatternsAreThoseOfLua compares string.find, string.match and string.gsub with those of
// gopher-lua, on short random patterns that its matcher can bear.
func TestPatternsAreThoseOfLua(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, n int) (s string) {
		for range random.IntN(n) {
			s += from[random.IntN(len(from))]
		}
		return s
	}
	faults := 0
	for range 2_000 {
		pattern, text := pick(pieces, 5)+pieces[random.IntN(len(pieces))], pick([]string{"a", "b", "c", "1", " ", "(", ")", "."}, 8)
		for _, call := range []string{"string.find(%q, %q)", "string.match(%q, %q)", "string.gsub(%q, %q, 'x')", "string.find(%q, %q, 3)"} {
			call = fmt.Sprintf(call, text, pattern)
			want, err := reference(call)
			s, compileErr := argolua.Compile("p", `local a, b, c, d = `+call+`; return {status = "Healthy", message = tostring(a) .. "," .. tostring(b) .. "," .. tostring(c) .. "," .. tostring(d)}`, argolua.Options{})
			require.NoError(t, compileErr)
			got, gotErr := s.Health(nil, now)
			if err != nil || gotErr != nil { // the two call different patterns malformed
				faults++
				continue
			}
			require.Equal(t, want, got.Message, call)
		}
	}
	require.Less(t, faults, 3_000, "most patterns are sound")
}

// reference evaluates a call with the libraries of gopher-lua.
func reference(call string) (result string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	l := lua.NewState()
	defer l.Close()
	err = l.DoString(`local a, b, c, d = ` + call + `; return tostring(a) .. "," .. tostring(b) .. "," .. tostring(c) .. "," .. tostring(d)`)
	return lua.LVAsString(l.Get(-1)), err
}
