package timequeue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type waiting struct {
	Timer
	name int
	set  int // the number of the call of set, from 1; 0 outside of a queue
}

// TestQueueIsASortedList plays random calls on a queue and on a list that is sorted each time.
func TestQueueIsASortedList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	all := make([]*waiting, 300)
	for i := range all {
		all[i] = &waiting{name: i}
	}
	var q Queue[*waiting]
	var list []*waiting
	start := time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC) // before what fits into nanoseconds
	for n := 1; n < 100_000; n++ {
		item := all[r.IntN(len(all))]
		switch r.IntN(5) {
		case 0, 1, 2:
			q.Set(item, start.Add(time.Duration(r.IntN(50)*3e8)))
			if item.set == 0 {
				list = append(list, item)
			}
			item.set = n
		case 3:
			q.Remove(item)
			list = slices.DeleteFunc(list, func(w *waiting) bool { return w == item })
			item.set = 0
		default:
			slices.SortFunc(list, earlier)
			list = popBoth(t, &q, list, start.Add(time.Duration(r.IntN(20)*1e9)))
		}
		require.Equal(t, len(list), q.Len())
		require.LessOrEqual(t, len(q.seats), max(2*q.Len()+1, q.Len()+64), "stale seats go")
	}
}

func earlier(a, b *waiting) int {
	if c := a.at.Compare(b.at); c != 0 {
		return c
	}
	return a.set - b.set
}

func popBoth(t *testing.T, q *Queue[*waiting], list []*waiting, now time.Time) []*waiting {
	at, ok := q.Next()
	require.Equal(t, len(list) > 0, ok)
	if !ok {
		return list
	}
	require.Equal(t, list[0].at, at)
	item, ok := q.Pop(now)
	require.Equal(t, !at.After(now), ok)
	if !ok {
		return list
	}
	require.Equal(t, list[0].name, item.name)
	item.set = 0
	return list[1:]
}

// BenchmarkQueue sets and pops among a million elements.
func BenchmarkQueue(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var q Queue[*waiting]
	now := time.Unix(0, 0)
	for range 1_000_000 {
		q.Set(&waiting{}, now.Add(time.Duration(r.Int64N(1e10))))
	}
	b.ReportAllocs()
	for b.Loop() {
		at, _ := q.Next()
		item, _ := q.Pop(at)
		q.Set(item, at.Add(time.Duration(r.Int64N(1e10))))
	}
}
