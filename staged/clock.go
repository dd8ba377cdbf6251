package staged

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// least is the least pause between two decisions that counts in full.
const least = time.Minute

// gapOf returns the longest pause between two decisions that counts in full. Time in which no
// program looked does not count.
func gapOf(limit time.Duration) time.Duration { return max(least, limit/20) }

// counted returns the time that a clock has counted by now.
func (d *decider) counted(c *v1alpha1.Clock, limit time.Duration) time.Duration {
	if c == nil {
		return 0
	}
	total := time.Duration(c.Seconds) * time.Second
	if c.At == nil || !d.seen.Now.Known {
		return total
	}
	return total + min(max(0, d.now.Sub(c.At.Time)), gapOf(limit))
}

// hasEnded lets a clock count, and reports whether it has counted the limit and the error of the
// hub's time. If not, another decision follows in time. A limit of 0 has ended at once if zero says
// so, and never otherwise.
func (d *decider) hasEnded(c **v1alpha1.Clock, limit time.Duration) bool {
	if *c == nil {
		*c = &v1alpha1.Clock{At: wholeSecond(d.now)}
	}
	total := d.counted(*c, limit)
	if d.seen.Now.Known && total >= limit+d.seen.Now.Error {
		return true
	}
	d.witness(c, limit, total)
	left, gap := limit+d.seen.Now.Error-total, gapOf(limit)
	switch at := (*c).At; {
	case !d.seen.Now.Known:
		left = time.Second // the next answer of the hub has the time
	case at == nil || d.now.Sub(at.Time)+left > gap:
		left = min(left, gap/2)
	}
	d.recheckAt(d.now.Add(max(1, left)))
	return false
}

// witness stores what a clock has counted, if it has counted for half the gap: a status is not
// written each second.
func (d *decider) witness(c **v1alpha1.Clock, limit, total time.Duration) {
	at := (*c).At
	switch {
	case !d.seen.Now.Known:
		if at != nil {
			*c = &v1alpha1.Clock{Seconds: (*c).Seconds}
		}
		return
	case at == nil || at.After(d.now.Add(time.Second)):
		*c = &v1alpha1.Clock{Seconds: (*c).Seconds, At: wholeSecond(d.now)}
		return
	case d.now.Sub(at.Time) < gapOf(limit)/2:
		return
	}
	whole := total.Truncate(time.Second)
	next := metav1.Time{Time: at.Add(whole - time.Duration((*c).Seconds)*time.Second)}
	if d.now.Sub(at.Time) > gapOf(limit) {
		next = *wholeSecond(d.now)
	}
	*c = &v1alpha1.Clock{Seconds: int64(whole / time.Second), At: &next}
}
