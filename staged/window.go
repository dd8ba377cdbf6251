package staged

import (
	"errors"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/cron"
)

// maxWindow is the longest time that a window may be open.
const maxWindow = 366 * 24 * time.Hour

// A window is a compiled v1alpha1.Window.
type window struct {
	schedule cron.Schedule
	duration time.Duration
	zone     *time.Location
	deny     bool
}

// next returns the first time from t on at which the window is open. It is false without one.
func (w window) next(t time.Time) (time.Time, bool) {
	for start := range w.schedule.After(t.Add(-w.duration), w.zone) {
		if start.Before(t) {
			return t, true
		}
		return start, true
	}
	return time.Time{}, false
}

// end returns the first time from t on at which the window is not open. It examines at most left
// starts, and subtracts those from left; if they are used up, it returns an earlier time.
func (w window) end(t time.Time, left *int) time.Time {
	for start := range w.schedule.After(t.Add(-w.duration), w.zone) {
		if *left--; start.After(t) || *left < 0 {
			break
		}
		t = start.Add(w.duration)
	}
	return t
}

// maxStarts is how many starts of windows the search for the next opening examines: for daily
// windows those of 27 years or more.
const maxStarts = 20_000

// opening returns the first time from now on at which a stage with these windows may start: within
// a window without deny, if there is any, and outside all windows with deny. If found is false, the
// search gave up at that time; the zero time means never, or years away.
func opening(windows []window, now time.Time) (at time.Time, found bool) {
	t := now
	for left := maxStarts; left > 0; left-- {
		if at = allowed(windows, t); at.IsZero() {
			return at, false
		}
		if t = denied(windows, at, &left); t.Equal(at) {
			return at, true
		}
	}
	if t.Sub(now) > maxWindow {
		return time.Time{}, false
	}
	return t, false
}

// allowed returns the first time from t on within a window without deny, or t if there is no such
// window; the zero time means never.
func allowed(windows []window, t time.Time) (first time.Time) {
	limited := false
	for _, w := range windows {
		if w.deny {
			continue
		}
		limited = true
		if at, ok := w.next(t); ok {
			first = earlier(first, at)
		}
	}
	if !limited {
		return t
	}
	return first
}

// denied returns when the windows with deny that are open at t end, or t without any.
func denied(windows []window, t time.Time, left *int) time.Time {
	for _, w := range windows {
		if w.deny {
			t = w.end(t, left)
		}
	}
	return t
}

// earlier returns the earlier of two times. The zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("want the name of a zone, not that of the machine")
	}
	return time.LoadLocation(name)
}

// merged returns the same window with one start a day, if it does not close between the starts of a
// day: a window that starts every minute for a minute is one long window. It needs UTC, where all
// days have the same length.
func (w window) merged() window {
	if w.zone != time.UTC || w.duration <= 0 {
		return w
	}
	const all = ^uint64(0)
	day := cron.Schedule{Minutes: w.schedule.Minutes, Hours: w.schedule.Hours, Days: all, Months: all, Weekdays: all}
	var first, end time.Time
	for start := range day.On(2000, 1, 1, time.UTC) {
		if first.IsZero() {
			first = start
		} else if start.After(end) {
			return w
		}
		end = start.Add(w.duration)
	}
	w.schedule.Hours, w.schedule.Minutes = 1<<first.Hour(), 1<<first.Minute()
	w.duration = end.Sub(first)
	return w
}
