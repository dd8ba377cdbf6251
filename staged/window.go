package staged

import (
	"errors"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// maxWindow is how long a window may be open.
const maxWindow = 366 * 24 * time.Hour

// A window is a compiled v1alpha1.Window.
type window struct {
	schedule schedule
	duration time.Duration
	zone     *time.Location
	deny     bool
}

// state tells whether the window is open at a time, and when that changes next; the zero time is never.
func (w window) state(now time.Time) (open bool, change time.Time) {
	if start, ok := w.schedule.last(now, now.Add(-w.duration), w.zone); ok {
		return true, start.Add(w.duration)
	}
	next, _ := w.schedule.next(now, w.zone)
	return false, next
}

// entry tells whether a stage with these windows may be started now, and when to look again.
func entry(windows []window, now time.Time) (open bool, change time.Time) {
	allowed, limited, denied := false, false, false
	for _, w := range windows {
		isOpen, at := w.state(now)
		change = earlier(change, at)
		limited = limited || !w.deny
		allowed = allowed || isOpen && !w.deny
		denied = denied || isOpen && w.deny
	}
	return !denied && (allowed || !limited), change
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func compileWindow(w v1alpha1.Window) (compiled window, field string, err error) {
	compiled = window{duration: w.Duration.Duration, deny: w.Deny}
	if compiled.schedule, err = parseCron(w.Cron); err != nil {
		return compiled, "cron", err
	}
	if w.TimeZone == "Local" {
		return compiled, "timeZone", errors.New("want the name of a zone, not that of the machine")
	}
	compiled.zone, err = time.LoadLocation(w.TimeZone)
	return compiled, "timeZone", err
}
