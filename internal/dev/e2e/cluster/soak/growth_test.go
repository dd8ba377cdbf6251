package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// steady is an hour of samples that wobble and do not rise.
func steady() []sample {
	all := make([]sample, 120)
	for i := range all {
		wobble := float64(i * 7 % 5)
		all[i] = sample{at: time.Unix(int64(30*i), 0), heap: 8<<20 + wobble*1e4, goroutines: 60 + wobble, rss: 80<<20 + wobble*1e5}
		all[i].p99 = 100*time.Millisecond + time.Duration(wobble)*time.Millisecond
	}
	return all
}

func TestGrowthIsFound(t *testing.T) {
	for _, c := range []struct {
		grows  string
		change func(i int, s *sample)
	}{
		{"", func(int, *sample) {}},
		{"", func(i int, s *sample) { // it warms up
			if i < 40 {
				s.heap, s.rss = s.heap/2, s.rss/2
			}
		}},
		{"", func(i int, s *sample) { s.heap -= float64(i) * 1e4 }},
		{"heap MiB", func(i int, s *sample) { s.heap += float64(i) * 2e4 }},
		{"goroutines", func(i int, s *sample) { s.goroutines += float64(i) / 5 }},
		{"RSS MiB", func(i int, s *sample) { s.rss += float64(i) * 2e5 }},
		{"p99 ms", func(i int, s *sample) { s.p99 += time.Duration(i) * time.Millisecond }},
	} {
		samples := steady()
		for i := range samples {
			c.change(i, &samples[i])
		}
		var out bytes.Buffer
		err := checkGrowth(&out, samples)
		if c.grows == "" {
			require.NoError(t, err, out.String())
			continue
		}
		require.ErrorIs(t, err, errGrows, c.grows)
		require.Regexp(t, c.grows+` .*GROWS`, out.String())
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("GROWS")))
	}
}

func TestALineIsFitted(t *testing.T) {
	var samples []sample
	for i := range 10 {
		samples = append(samples, sample{at: time.Unix(int64(i), 0), heap: 5 + 2*float64(i)})
	}
	l := fit(samples, growthLimits[0].of)
	require.InDelta(t, 14, l.mean, 1e-9)
	require.InDelta(t, 18, l.rise, 1e-9)
	require.InDelta(t, 0, l.err, 1e-6)
}

func TestFewSamplesSayNothing(t *testing.T) {
	require.ErrorContains(t, checkGrowth(&bytes.Buffer{}, steady()[:7]), "7 samples")
	require.ErrorContains(t, checkGrowth(&bytes.Buffer{}, nil), "0 samples")
}
