package batch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/schedules"
)

// readSchedule parses the schedule of a CronJob. The default time zone is the zone of
// kube-controller-manager, which is UTC here. A time that the clocks skip does not occur that day;
// a time that they show twice occurs twice.
func readSchedule(cj *unstructured.Unstructured) (cron.Schedule, error) {
	text := fields.String(cj.Object, "spec", "schedule")
	if zone := fields.String(cj.Object, "spec", "timeZone"); zone != "" && !strings.Contains(text, "TZ") {
		text = "TZ=" + zone + " " + text
	}
	return schedules.Parse(text)
}

// zoneOf returns the time zone of a CronJob.
func zoneOf(cj *unstructured.Unstructured) (*time.Location, error) {
	return time.LoadLocation(cmp.Or(fields.String(cj.Object, "spec", "timeZone"), "UTC"))
}

// manyMissed is the number of missed times from which a warning is recorded.
const manyMissed = 100

// A missedStart is a time at which a CronJob did not run.
type missedStart struct {
	earliest time.Time // after which times count
	latest   time.Time // the last time that has passed; zero without one
	count    int64     // about how many have passed
}

// missedSince finds the last time of a schedule in (earliest, now]. How many there are is estimated
// by the distance of the first two, as kube-controller-manager does.
func missedSince(s cron.Schedule, earliest, now time.Time) (missedStart, error) {
	m := missedStart{earliest: earliest}
	first := s.Next(earliest)
	second := s.Next(first)
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
	for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
		m.latest = t
	}
	return m, nil
}
