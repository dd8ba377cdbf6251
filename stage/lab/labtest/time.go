package labtest

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Advance lets virtual time pass by d. Afterwards everything that was due until then has happened.
// It logs errors of Stages and controllers, including panics, if T has a method Logf.
func (l *Lab) Advance(d time.Duration) {
	l.t.Helper()
	if d < 0 {
		l.must(fmt.Errorf("time does not go back by %s", -d))
		return
	}
	end := l.Now().Add(d)
	l.playUntil(end, never)
	for l.Now().Before(end) {
		l.pass(end)
		l.playUntil(end, never)
	}
	l.logErrors()
}

// Settle lets virtual time pass until nothing more will happen. It fails the test if this takes
// longer than Options.Timeout. CronJobs, Stages that repeat without end, and autoscalers with
// Options.Metrics never settle. It also fails the test if changes repeat without end while no time
// passes. The failure names what is due next and why, and the errors of Stages and controllers.
// Without a failure these errors are logged, as by Advance.
func (l *Lab) Settle() {
	l.t.Helper()
	l.playUntil(l.Now().Add(l.options.Timeout), never)
	if next, more := l.next(); more {
		l.t.Fatalf("labtest: not settled after %s; the next thing is due in %s: %s%s%s", l.options.Timeout, next.Sub(l.Now()), l.sim.Upcoming(), l.autoscalerSays(), l.errorLines())
	}
	l.logErrors()
}

// autoscalerSays returns a text that an autoscaler keeps the lab from settling, or "". With a
// metrics function it does, because the function can change with the time.
func (l *Lab) autoscalerSays() string {
	source := "Options.Metrics"
	switch {
	case l.options.Metrics != nil:
	case l.options.Containers.Usage != nil:
		source = "Options.Containers.Usage"
	default:
		return ""
	}
	kind := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	list, err := l.sim.Cluster().List(context.Background(), kind, "", metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	first := list.Items[0]
	return fmt.Sprintf("; HorizontalPodAutoscaler %s/%s asks %s every 15s, so that the lab never settles: use Advance or WaitCurrent", first.GetNamespace(), first.GetName(), source)
}

func never() bool { return false }

// playUntil does what is due, one instant after another, until done returns true or nothing more is
// due until end. It reports whether done returned true.
func (l *Lab) playUntil(end time.Time, done func() bool) bool {
	l.t.Helper()
	for {
		next, more := l.next()
		switch {
		case done():
			return true
		case !more || next.After(end):
			return false
		}
		l.pass(next)
	}
}

// next returns the time at which something happens next, after other goroutines have reacted to the
// last change.
func (l *Lab) next() (time.Time, bool) {
	l.sync(0)
	return l.sim.Next()
}

// noticeEvery is the time after which the lab looks for what other goroutines have done on their own, such as a manager
// that looks again after a while. It sees that at most so much too late, or dates it so much too early.
const noticeEvery = time.Second

// pass moves the time to a moment before which nothing is due, and does what is due then. With other goroutines it moves
// the time by noticeEvery at most.
func (l *Lab) pass(until time.Time) {
	l.t.Helper()
	d := until.Sub(l.Now())
	if l.options.Sync != nil {
		d = min(d, noticeEvery)
	}
	l.sync(d)
	l.must(l.sim.Advance(context.Background(), d))
	l.failOnLivelock()
}

func (l *Lab) sync(d time.Duration) {
	if l.options.Sync != nil {
		l.options.Sync(d)
	}
}

// failOnLivelock fails the test if there was a livelock.
func (l *Lab) failOnLivelock() {
	l.t.Helper()
	if l.livelock != nil {
		l.t.Fatalf("labtest: %v", l.livelock)
	}
}
