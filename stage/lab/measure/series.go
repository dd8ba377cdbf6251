package measure

import (
	"math"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A Series is a number over time, ordered by time. The value of a point holds until the next point;
// the last point marks the end.
type Series []Point

// A Point is a time and the value from then on.
type Point struct {
	Time  time.Time
	Value float64
}

// At returns the value at a time: 0 before the first point.
func (s Series) At(t time.Time) float64 {
	value := 0.0
	for _, p := range s {
		if p.Time.After(t) {
			break
		}
		value = p.Value
	}
	return value
}

// Sample returns the values. The weight of a value is how long it lasted.
func (s Series) Sample() Sample {
	var all []weighted
	for i := range len(s) - 1 {
		if d := s[i+1].Time.Sub(s[i].Time); d > 0 {
			all = append(all, weighted{s[i].Value, d.Seconds()})
		}
	}
	return newSample(all)
}

// numberOf returns the number of objects whose last record matches, over time. It begins and ends
// with the log.
func numberOf(log record.Log, of Where) Series {
	return sum(log, func(r record.Record) float64 {
		if of(r) {
			return 1
		}
		return 0
	})
}

// used returns the requests for a resource, over time, of Pods that have a node and have not ended.
func used(log record.Log, resource string) Series {
	requests := amounts(resource)
	return sum(log, func(r record.Record) float64 {
		n := requests(r)
		if r.Kind != "Pod" || r.Node == "" || ended(r) {
			return 0
		}
		return n
	})
}

// capacity returns the amount of a resource that all Nodes can allocate, ready or not, over time.
func capacity(log record.Log, resource string) Series {
	allocatable := amounts(resource)
	return sum(log, func(r record.Record) float64 {
		n := allocatable(r)
		if r.Kind != "Node" || r.To == record.Deleted {
			return 0
		}
		return n
	})
}

// amounts returns a function that reads the amount of a resource from the records of a log, one
// after another. If a record has no amounts, those of the object's previous record hold.
func amounts(resource string) func(record.Record) float64 {
	known := map[object]float64{}
	return func(r record.Record) float64 {
		key := objectOf(r)
		switch n := known[key]; {
		case r.To == record.Deleted:
			delete(known, key)
			return n
		case r.Amounts != nil:
			known[key] = r.Amounts[resource]
		}
		return known[key]
	}
}

// sum adds up a value of each object over time. The last record of an object decides its value.
func sum(log record.Log, worth func(record.Record) float64) Series {
	var s Series
	total, known := 0.0, map[object]float64{}
	for _, r := range log {
		key, now := objectOf(r), worth(r)
		if before := known[key]; now != before {
			total = exact(total - before + now)
			known[key] = now
		}
		if now == 0 {
			delete(known, key)
		}
		s = s.add(r.Time, total)
	}
	if len(log) > 0 {
		s = s.end(log[len(log)-1].Time)
	}
	return s
}

// exact removes the rounding errors of adding fractions.
func exact(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// add adds a value from t on. The last of several values at the same time counts.
func (s Series) add(t time.Time, value float64) Series {
	if last := len(s) - 1; last >= 0 && !t.After(s[last].Time) {
		s[last].Value = value
		if last > 0 && s[last-1].Value == value {
			s = s[:last]
		}
		return s
	} else if last >= 0 && s[last].Value == value {
		return s
	}
	return append(s, Point{t, value})
}

// end adds the last point.
func (s Series) end(t time.Time) Series {
	if last := s[len(s)-1]; t.After(last.Time) {
		s = append(s, Point{t, last.Value})
	}
	return s
}

// Over divides the series by another one. The quotient is 0 where the divisor is 0.
func (s Series) Over(other Series) Series {
	var quotient Series
	i, j, above, below := 0, 0, 0.0, 0.0
	for i < len(s) || j < len(other) {
		var t time.Time
		if j == len(other) || i < len(s) && !other[j].Time.Before(s[i].Time) {
			t, above = s[i].Time, s[i].Value
		} else {
			t, below = other[j].Time, other[j].Value
		}
		for ; i < len(s) && !s[i].Time.After(t); i++ {
			above = s[i].Value
		}
		for ; j < len(other) && !other[j].Time.After(t); j++ {
			below = other[j].Value
		}
		quotient = append(quotient, Point{t, ratio(above, below)})
	}
	return quotient
}

func ratio(above, below float64) float64 {
	if below == 0 {
		return 0
	}
	return above / below
}
