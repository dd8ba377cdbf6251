package staged

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A schedule is the five fields of a cron expression, as bit sets.
type schedule struct {
	minutes, hours, days, months, weekdays uint64
	eitherDay                              bool // days and weekdays are both limited: either is enough
}

// cronFields are the fields in their order, with the names that may stand for numbers, from the least on.
var cronFields = []struct {
	name     string
	min, max int
	names    []string
}{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{name: "day of week", max: 7, names: strings.Fields("sun mon tue wed thu fri sat")},
}

// parseCron reads numbers, names, ranges, lists, * and steps. Sunday is 0 or 7.
func parseCron(text string) (s schedule, err error) {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return s, fmt.Errorf("want 5 fields, got %d", len(fields))
	}
	sets := []*uint64{&s.minutes, &s.hours, &s.days, &s.months, &s.weekdays}
	for i, field := range fields {
		if *sets[i], err = parseCronField(i, field); err != nil {
			return s, fmt.Errorf("%s: %w", cronFields[i].name, err)
		}
	}
	s.weekdays |= s.weekdays >> 7 & 1
	s.eitherDay = !strings.HasPrefix(fields[2], "*") && !strings.HasPrefix(fields[4], "*")
	return s, nil
}

func parseCronField(i int, field string) (set uint64, err error) {
	for _, part := range strings.Split(field, ",") {
		bits, err := parseCronPart(i, part)
		if err != nil {
			return 0, err
		}
		set |= bits
	}
	return set, nil
}

func parseCronPart(i int, part string) (set uint64, err error) {
	span, stepText, stepped := strings.Cut(part, "/")
	first, last := cronFields[i].min, cronFields[i].max
	if span != "*" {
		from, to, ranged := strings.Cut(span, "-")
		if first, err = cronNumber(i, from); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			last, err = cronNumber(i, to)
		case !stepped:
			last = first
		}
	}
	step := 1
	if stepped && err == nil {
		step, err = strconv.Atoi(stepText)
	}
	if err != nil || step < 1 || first > last {
		return 0, fmt.Errorf("cannot read %q", part)
	}
	for n := first; n <= last; n += step {
		set |= 1 << n
	}
	return set, nil
}

func cronNumber(i int, text string) (int, error) {
	f := cronFields[i]
	if at := slices.Index(f.names, strings.ToLower(text)); at >= 0 {
		return f.min + at, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("want %d to %d, got %q", f.min, f.max, text)
	}
	return n, nil
}

func (s schedule) onDay(day time.Time) bool {
	if s.months>>int(day.Month())&1 == 0 {
		return false
	}
	inMonth := s.days>>day.Day()&1 == 1
	inWeek := s.weekdays>>int(day.Weekday())&1 == 1
	if s.eitherDay {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// horizon is how many days away the next time is looked for: any day of the month, month and day of the week that ever come together do so within 40
// years, February 29th on a Sunday beyond 2100 among them.
const horizon = 40*366 + 1

// after yields the times after t, in order, as far as the horizon.
func (s schedule) after(t time.Time, zone *time.Location) iter.Seq[time.Time] {
	day := t.In(zone)
	return func(yield func(time.Time) bool) {
		for i := range horizon {
			for at := range s.times(day.Year(), day.Month(), day.Day()+i, zone) {
				if at.After(t) && !yield(at) {
					return
				}
			}
		}
	}
}

// times yields the times of one day in order, if the schedule holds on it.
func (s schedule) times(year int, month time.Month, day int, zone *time.Location) iter.Seq[time.Time] {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return func(yield func(time.Time) bool) {
		if !s.onDay(date) {
			return
		}
		for hours := s.hours; hours != 0; hours &= hours - 1 {
			hour := date.Add(time.Duration(bits.TrailingZeros64(hours)) * time.Hour)
			for minutes := s.minutes; minutes != 0; minutes &= minutes - 1 {
				if !yield(instant(hour.Add(time.Duration(bits.TrailingZeros64(minutes))*time.Minute), zone)) {
					return
				}
			}
		}
	}
}

// instant is the first time at which clocks of a zone show what wall does in UTC. What they skip, when they are put forward, is the instant at which that happens.
func instant(wall time.Time, zone *time.Location) time.Time {
	var found, skipped time.Time
	for _, around := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		_, offset := wall.Add(around).In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if shows(at.In(zone), wall) {
			if found.IsZero() || at.Before(found) {
				found = at
			}
			continue
		}
		if start, _ := at.In(zone).ZoneBounds(); around < 0 {
			skipped = start
		}
	}
	if found.IsZero() {
		return skipped.UTC()
	}
	return found
}

func shows(at, wall time.Time) bool {
	return at.Day() == wall.Day() && at.Hour() == wall.Hour() && at.Minute() == wall.Minute()
}
