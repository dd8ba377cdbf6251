// Package cron parses cron expressions of five fields and computes their times.
//
// Names of months and weekdays, ranges, lists, * and steps mean what they mean in cron. The package
// is for time windows. If the clocks skip a time, it means the moment at which they are put
// forward. For CronJobs a skipped time does not exist: they use the schedules of package
// stage/lab/controllers/batch.
package cron

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Schedule is the five fields of a cron expression, as bit sets.
type Schedule struct {
	Minutes, Hours, Days, Months, Weekdays uint64
	EitherDay                              bool // days and weekdays are both restricted: either is enough
}

// fields are the fields in their order, with the names that may stand for numbers, the lowest
// first.
var fields = []struct {
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

// Parse reads numbers, names, ranges, lists, * and steps. Sunday is 0 or 7.
func Parse(text string) (s Schedule, err error) {
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return s, fmt.Errorf("want 5 fields, got %d", len(parts))
	}
	sets := []*uint64{&s.Minutes, &s.Hours, &s.Days, &s.Months, &s.Weekdays}
	for i, part := range parts {
		if *sets[i], err = parseField(i, part); err != nil {
			return s, fmt.Errorf("%s: %w", fields[i].name, err)
		}
	}
	s.Weekdays |= s.Weekdays >> 7 & 1
	s.EitherDay = !strings.HasPrefix(parts[2], "*") && !strings.HasPrefix(parts[4], "*")
	return s, nil
}

func parseField(i int, field string) (set uint64, err error) {
	for _, part := range strings.Split(field, ",") {
		bits, err := parsePart(i, part)
		if err != nil {
			return 0, err
		}
		set |= bits
	}
	return set, nil
}

func parsePart(i int, part string) (set uint64, err error) {
	span, stepText, stepped := strings.Cut(part, "/")
	first, last := fields[i].min, fields[i].max
	if span != "*" {
		from, to, ranged := strings.Cut(span, "-")
		if first, err = parseNumber(i, from); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			last, err = parseNumber(i, to)
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

func parseNumber(i int, text string) (int, error) {
	f := fields[i]
	if at := slices.Index(f.names, strings.ToLower(text)); at >= 0 {
		return f.min + at, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("want %d to %d, got %q", f.min, f.max, text)
	}
	return n, nil
}

func (s Schedule) onDay(day time.Time) bool {
	if s.Months>>int(day.Month())&1 == 0 {
		return false
	}
	inMonth := s.Days>>day.Day()&1 == 1
	inWeek := s.Weekdays>>int(day.Weekday())&1 == 1
	if s.EitherDay {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// horizon is the number of days that After covers. Every combination of day of the month, month and
// day of the week that exists occurs within 40 years, even a February 29th on a Sunday around 2100.
const horizon = 40*366 + 1

// After yields the times after t, in order, for the next 40 years.
func (s Schedule) After(t time.Time, zone *time.Location) iter.Seq[time.Time] {
	day := t.In(zone)
	return func(yield func(time.Time) bool) {
		for i := range horizon {
			for at := range s.On(day.Year(), day.Month(), day.Day()+i, zone) {
				if at.After(t) && !yield(at) {
					return
				}
			}
		}
	}
}

// On yields the times of one day, in order; none if the schedule is not for that day.
func (s Schedule) On(year int, month time.Month, day int, zone *time.Location) iter.Seq[time.Time] {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return func(yield func(time.Time) bool) {
		if !s.onDay(date) {
			return
		}
		for hours := s.Hours; hours != 0; hours &= hours - 1 {
			hour := date.Add(time.Duration(bits.TrailingZeros64(hours)) * time.Hour)
			for minutes := s.Minutes; minutes != 0; minutes &= minutes - 1 {
				if !yield(instant(hour.Add(time.Duration(bits.TrailingZeros64(minutes))*time.Minute), zone)) {
					return
				}
			}
		}
	}
}

// instant returns the first time at which the clocks of a zone show what wall shows in UTC. If they
// skip that when they are put forward, it is the time at which they are.
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
