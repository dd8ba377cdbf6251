package delay_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

func extended(t testing.TB, definition, extension string) delay.Range {
	t.Helper()
	d, err := delay.Compile(parse(t, definition), delay.Options{})
	require.NoError(t, err)
	x, err := delay.ParseExtension(extension)
	require.NoError(t, err)
	return x.Extend(d.Explain(map[string]any{"t": "2006-01-02T15:04:00Z", "empty": ""}, now)).Range
}

func TestExtend(t *testing.T) {
	for _, tc := range []struct{ delay, extension, want string }{
		{"{durationMilliseconds: 5000, jitterDurationMilliseconds: 2000}", "addJitter: true", "[5s, 7s)"},
		{"{durationMilliseconds: 5000, jitterDurationMilliseconds: 9000}", "{addJitter: true, offset: 1s}", "[6s, 15s)"},
		{"{durationMilliseconds: 5000}", "addJitter: true", "5s"},
		{"null", "addJitter: true", "0s"},
		{"{durationFrom: {expressionFrom: .t}}", "offset: 5s", "0s"},
		{"{durationFrom: {expressionFrom: .t}}", "offset: -5s", "-10s"},
		{"{durationFrom: {expressionFrom: .empty}}", "offset: 5s", "none"},
		{"null", "offset: 5s", "5s"},
		{"{durationMilliseconds: 1000, jitterDurationMilliseconds: 3000}", "offset: 5s", "[6s, 8s)"},
		{"null", "exponential: {mean: 3s}", "exponential (mean 3s)"},
		{"{durationMilliseconds: 1000, jitterDurationMilliseconds: 9000}", "{exponential: {mean: 3s}, offset: 1s}", "2s + exponential (mean 3s)"},
		{"{durationFrom: {expressionFrom: .t}}", "logNormal: {median: 3s, p90: 8s}", "-5s + log-normal (median 3s, p90 8s)"},
		{"{}", "quantiles: {p0: 1s, p50: 2s, p100: 4s}", "quantiles (p50 2s, p90 3.6s)"},
	} {
		require.Equal(t, tc.want, extended(t, tc.delay, tc.extension).String(), "%s, %s", tc.delay, tc.extension)
	}
}

// TestDrawsFollowTheirDistribution: the quantiles of draws equal the quantiles of the distribution,
// and all draws are within the bounds.
func TestDrawsFollowTheirDistribution(t *testing.T) {
	for extension, want := range map[string][3]time.Duration{ // p10, p50, p90
		"exponential: {mean: 10s}":                               {1054 * time.Millisecond, 6931 * time.Millisecond, 23026 * time.Millisecond},
		"logNormal: {median: 3s, p90: 8s}":                       {1125 * time.Millisecond, 3 * time.Second, 8 * time.Second},
		"quantiles: {p0: 1s, p50: 2s, p90: 10s, p100: 1m}":       {1200 * time.Millisecond, 2 * time.Second, 10 * time.Second},
		"{quantiles: {p0: 1s, p10: 1s, p100: 1s}, offset: -1ms}": {999 * time.Millisecond, 999 * time.Millisecond, 999 * time.Millisecond},
	} {
		r := extended(t, "null", extension)
		draws := make([]time.Duration, 10_000)
		for i := range draws {
			draws[i] = r.Pick(uint64(i)*(math.MaxUint64/10_000) + 1<<40)
			require.True(t, r.Min <= draws[i] && draws[i] < r.Max, "%s: %s", extension, draws[i])
		}
		require.True(t, slices.IsSorted(draws), "a greater number is a longer delay")
		for i, p := range []int{1000, 5000, 9000} {
			require.InEpsilon(t, want[i], draws[p], 0.002, "%s: p%d", extension, p/100)
		}
	}
}

// TestDrawsAreRoundedToMicroseconds, so that the last bits of a logarithm do not show.
func TestDrawsAreRoundedToMicroseconds(t *testing.T) {
	r := extended(t, "null", "logNormal: {median: 3s, p90: 8s}")
	for i := range uint64(1000) {
		d := r.Pick(i * 0x9e3779b97f4a7c15)
		require.Equal(t, d.Round(time.Microsecond), d)
	}
}

func TestExtremesStayWithinADuration(t *testing.T) {
	require.Less(t, extended(t, "null", "exponential: {mean: 1s}").Max, 37*time.Second)
	for _, extension := range []string{"exponential: {mean: 2540400h}", "logNormal: {median: 1ns, p90: 2540400h}", "{quantiles: {p0: 0s, p100: 2540400h}, offset: 2540400h}"} {
		r := extended(t, "{durationFrom: {cel: {expression: '9223372036854775807'}}}", extension)
		for _, random := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
			require.Positive(t, r.Pick(random), extension)
		}
	}
}

func TestExtensionFaultsHaveOffsets(t *testing.T) {
	text := "exponential:\n  mean: 0s\noffset: x\n"
	_, err := delay.ParseExtension(text)
	var found []string
	for _, fault := range err.(interface{ Unwrap() []error }).Unwrap() {
		e := fault.(*delay.Error)
		found = append(found, fmt.Sprintf("%s at %q", e.Path, text[e.Offset:e.Offset+2]))
	}
	require.Equal(t, []string{`exponential.mean at "0s"`, `offset at "x\n"`}, found)
	for _, bad := range []string{"", "---\na: 1\n---\nb: 1", "[1]", "5", "addJitter: yes please", "exponential: 5s", "quantiles: {}", "quantiles: {p0: 1s}", "quantiles: {pNaN: 1s, p0: 1s, p100: 1s}"} {
		x, err := delay.ParseExtension(bad)
		require.Error(t, err, bad)
		require.Nil(t, x)
	}
}

func FuzzParseExtension(f *testing.F) {
	for _, seed := range []string{"addJitter: true", "exponential: {mean: 3s}", "logNormal: {median: 3s, p90: 8s}", "{quantiles: {p0: 1s, p50: 3s, p100: 20s}, offset: -5s}"} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, random uint64) {
		x, err := delay.ParseExtension(text)
		if err != nil {
			require.Nil(t, x)
			return
		}
		r := x.Extend(delay.Explanation{Range: delay.Range{Given: true}}).Range
		require.LessOrEqual(t, r.Min, r.Max)
		require.GreaterOrEqual(t, r.Pick(random), r.Min, text)
		_ = x.String() + r.String()
	})
}

func ExampleParseExtension() {
	ms := int64(1000)
	d, err := delay.Compile(&v1alpha1.StageDelay{DurationMilliseconds: &ms}, delay.Options{})
	if err != nil {
		panic(err)
	}
	x, err := delay.ParseExtension("exponential: {mean: 3s}")
	if err != nil {
		panic(err)
	}
	r := x.Extend(d.Explain(nil, now)).Range
	fmt.Println(r, r.Pick(1<<63), r.Pick(15<<60))
	_, err = delay.ParseExtension("exponential: {median: 3s}")
	fmt.Println(err)
	// Output:
	// 1s + exponential (mean 3s) 3.079442s 9.317766s
	// exponential.median: unknown field
	// exponential.mean: missing
}
