package load

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// A Stream is a sequence of draws from a distribution. It must not be used from several goroutines
// at once.
type Stream struct {
	random *rand.Rand
	from   Distribution
}

// New returns a stream whose values depend only on the seed, the name and the distribution. It
// returns the error of [Check].
func New(seed uint64, name string, from Distribution) (*Stream, error) {
	if err := Check(from); err != nil {
		return nil, err
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return &Stream{random: rand.New(rand.NewPCG(seed, h.Sum64())), from: from}, nil
}

// MustNew is [New] for distributions that are constants of a program. It panics on an error.
func MustNew(seed uint64, name string, from Distribution) *Stream {
	s, err := New(seed, name, from)
	if err != nil {
		panic(err)
	}
	return s
}

// Next returns the next value.
func (s *Stream) Next() float64 { return s.from.Quantile(s.random.Float64()) }

// Duration returns the next value as seconds, rounded to the nanosecond. A negative value becomes
// 0, and a value that is too large becomes the longest Duration.
func (s *Stream) Duration() time.Duration { return seconds(s.Next()) }

func seconds(v float64) time.Duration {
	ns := math.Round(v * 1e9)
	switch {
	case !(ns > 0):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// Arrivals returns the times of the next n arrivals. The gaps between them, and the gap before the
// first, are draws of the stream.
func (s *Stream) Arrivals(n int) []time.Duration {
	times := make([]time.Duration, 0, max(n, 0))
	var at time.Duration
	for range n {
		if at += s.Duration(); at < 0 {
			at = math.MaxInt64
		}
		times = append(times, at)
	}
	return times
}
