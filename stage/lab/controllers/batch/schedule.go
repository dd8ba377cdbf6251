package batch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A schedule says when a CronJob is due. It is that of robfig/cron v3, which
// kube-controller-manager uses, to the second, with what that does when clocks are changed: a time
// that the clocks skip is left out that day, one that they show twice occurs twice.
type schedule interface {
	// next returns the first time after another one, in UTC, zero if there is none within five
	// years.
	next(after time.Time) time.Time
}

// readSchedule reads the schedule of a CronJob. Without a time zone it is that of
// kube-controller-manager, which is UTC here.
func readSchedule(cj *unstructured.Unstructured) (schedule, error) {
	text := fields.String(cj.Object, "spec", "schedule")
	if zone := fields.String(cj.Object, "spec", "timeZone"); zone != "" && !strings.Contains(text, "TZ") {
		text = "TZ=" + zone + " " + text
	}
	return parseSchedule(text)
}

// zoneOf returns the time zone of a CronJob.
func zoneOf(cj *unstructured.Unstructured) (*time.Location, error) {
	return time.LoadLocation(cmp.Or(fields.String(cj.Object, "spec", "timeZone"), "UTC"))
}

// An interval is the schedule of @every.
type interval time.Duration

func newInterval(d time.Duration) interval {
	return interval(max(d, time.Second).Truncate(time.Second))
}

func (i interval) next(after time.Time) time.Time {
	return after.Add(time.Duration(i) - time.Duration(after.Nanosecond())).UTC()
}

// A calendar is the schedule of five fields, as bit sets.
type calendar struct {
	minutes, hours, days, months, weekdays uint64
	bothDays                               bool // day and weekday both have to match, because one of them is *
	zone                                   *time.Location
}

func (c *calendar) next(after time.Time) time.Time {
	t := after.In(c.zone)
	s := search{calendar: c, t: t.Add(time.Second - time.Duration(t.Nanosecond()))}
	for last := s.t.Year() + 5; s.t.Year() <= last; {
		if s.month() && s.day() && s.hour() && s.minute() && s.second() {
			return s.t.UTC()
		}
	}
	return time.Time{}
}

func (c *calendar) onDay(t time.Time) bool {
	inMonth, inWeek := has(c.days, t.Day()), has(c.weekdays, int(t.Weekday()))
	if c.bothDays {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

func has(set uint64, n int) bool { return set>>n&1 == 1 }

// A search moves forward to the next time of a calendar. Each method brings one field to a value
// that the calendar has. It is false if that took it beyond the end of the field above, so that the
// search has to begin again with the month.
type search struct {
	*calendar
	t     time.Time
	moved bool // the fields below are at their beginning
}

// begin sets the fields below one that moves to their beginning, once.
func (s *search) begin(start time.Time) {
	if !s.moved {
		s.moved, s.t = true, start
	}
}

func (s *search) month() bool {
	for !has(s.months, int(s.t.Month())) {
		s.begin(time.Date(s.t.Year(), s.t.Month(), 1, 0, 0, 0, 0, s.zone))
		if s.t = s.t.AddDate(0, 1, 0); s.t.Month() == time.January {
			return false
		}
	}
	return true
}

// day goes from midnight to midnight. Where the clocks skip midnight, or show it twice, the day
// begins at another hour, from which it goes to the nearest midnight by hours of the clock.
func (s *search) day() bool {
	for !s.onDay(s.t) {
		s.begin(time.Date(s.t.Year(), s.t.Month(), s.t.Day(), 0, 0, 0, 0, s.zone))
		s.t = s.t.AddDate(0, 0, 1)
		if hour := s.t.Hour(); hour > 12 {
			s.t = s.t.Add(time.Duration(24-hour) * time.Hour)
		} else {
			s.t = s.t.Add(-time.Duration(hour) * time.Hour)
		}
		if s.t.Day() == 1 {
			return false
		}
	}
	return true
}

func (s *search) hour() bool {
	for !has(s.hours, s.t.Hour()) {
		s.begin(time.Date(s.t.Year(), s.t.Month(), s.t.Day(), s.t.Hour(), 0, 0, 0, s.zone))
		if s.t = s.t.Add(time.Hour); s.t.Hour() == 0 {
			return false
		}
	}
	return true
}

func (s *search) minute() bool {
	for !has(s.minutes, s.t.Minute()) {
		s.begin(s.t.Truncate(time.Minute))
		if s.t = s.t.Add(time.Minute); s.t.Minute() == 0 {
			return false
		}
	}
	return true
}

func (s *search) second() bool {
	for s.t.Second() != 0 {
		s.begin(s.t.Truncate(time.Second))
		if s.t = s.t.Add(time.Second); s.t.Second() == 0 {
			return false
		}
	}
	return true
}

// manyMissed is how many times may be missed before it is worth a warning.
const manyMissed = 100

// A missedStart is what a CronJob has not been run for.
type missedStart struct {
	earliest time.Time // after which times count
	latest   time.Time // the last time that has passed, zero if there is none
	count    int64     // about how many have passed
}

// missedSince finds the last time of a schedule in (earliest, now]. How many there are is estimated
// by the distance of the first two, as kube-controller-manager does.
func missedSince(s schedule, earliest, now time.Time) (missedStart, error) {
	m := missedStart{earliest: earliest}
	first := s.next(earliest)
	second := s.next(first)
	switch {
	case now.Before(first):
		return m, nil
	case now.Before(second):
		m.latest, m.count = first, 1
		return m, nil
	}
	between := int64(second.Sub(first).Round(time.Second).Seconds())
	if between < 1 {
		return m, fmt.Errorf("time difference between two schedules is less than 1 second")
	}
	m.count = (now.Unix()-first.Unix())/between + 1
	from := time.Unix(first.Unix()+(m.count-2)*between, 0)
	for t := s.next(from); !t.IsZero() && !t.After(now); t = s.next(t) {
		m.latest = t
	}
	return m, nil
}
