package cron

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// zones have changes at midnight, by half an hour, by two hours and by a whole day, or none.
var zones = []string{
	"America/New_York", "Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Cairo",
	"Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "America/St_Johns", "Asia/Kathmandu", "UTC",
}

// A scenario is a span of time and what is due in it.
type scenario struct {
	start    time.Time
	length   time.Duration
	cronJobs []cronJob
}

type cronJob struct{ name, schedule, zone string }

// text is how kube-controller-manager gives a schedule to the library.
func (c cronJob) text() string {
	if c.zone != "" && !strings.Contains(c.schedule, "TZ") {
		return "TZ=" + c.zone + " " + c.schedule
	}
	return c.schedule
}

// random makes n CronJobs, either with frequent times in the days about a change of the clocks, or
// with rare times in more than a year.
func random(t *testing.T, seed uint64, n int) scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	zone := pick(r, zones...)
	s := scenario{start: beforeChange(t, r, zone), length: 4 * 24 * time.Hour}
	rare := r.IntN(4) == 0
	if rare {
		s.length = 400 * 24 * time.Hour
	}
	for i := range n {
		c := cronJob{name: fmt.Sprint("c", i), schedule: schedule(r, rare), zone: zone}
		switch r.IntN(8) {
		case 0:
			c.zone = ""
		case 1:
			c.zone = pick(r, zones...)
		case 2:
			c.zone, c.schedule = "", pick(r, "TZ=", "CRON_TZ=")+zone+" "+c.schedule
		}
		s.cronJobs = append(s.cronJobs, c)
	}
	return s
}

// beforeChange returns a time in the three days before the clocks of a zone change, whole seconds.
func beforeChange(t *testing.T, r *rand.Rand, zone string) time.Time {
	location, err := time.LoadLocation(zone)
	require.NoError(t, err)
	at := time.Date(2005+r.IntN(18), time.Month(1+r.IntN(12)), 1, 0, 0, 0, 0, location)
	if _, end := at.ZoneBounds(); !end.IsZero() {
		at = end
	}
	return at.Add(-time.Duration(r.IntN(3*24*3600)) * time.Second).UTC()
}

func schedule(r *rand.Rand, rare bool) string {
	switch r.IntN(12) {
	case 0:
		return pick(r, "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@never")
	case 1:
		d := time.Duration(60+r.IntN(80_000))*time.Second + time.Duration(r.IntN(2)*500)*time.Millisecond
		if rare {
			d *= 20
		}
		return "@every " + d.String()
	}
	text := []string{field(r, 0, 59), field(r, 0, 23), field(r, 1, 31), field(r, 1, 12, months...), field(r, 0, 6, weekdays...)}
	if rare || strings.HasPrefix(text[0], "*") {
		text[0] = fmt.Sprint(r.IntN(60))
	}
	if rare {
		text[1] = fmt.Sprint(r.IntN(24))
	} else if r.IntN(3) > 0 {
		text[3] = "*"
	}
	if r.IntN(30) == 0 {
		text = text[r.IntN(3):]
	}
	return strings.Join(text, " ")
}

var (
	months   = strings.Fields("jan FEB mar Apr may jun jul aug sep oct nov dec")
	weekdays = strings.Fields("sun MON tue Wed thu fri sat")
)

// field draws one field of a schedule, now and then one that is wrong.
func field(r *rand.Rand, first, last int, names ...string) string {
	number := func() string { return fmt.Sprint(first + r.IntN(last-first+1)) }
	switch r.IntN(12) {
	case 0, 1, 2, 3, 4:
		return pick(r, "*", "*", "*", "?")
	case 5, 6:
		return fmt.Sprintf("*/%d", 1+r.IntN(last))
	case 7:
		low := first + r.IntN(last-first+1)
		return fmt.Sprintf("%d-%d%s", low, low+r.IntN(last-low+1), pick(r, "", "", "/2", "/7"))
	case 8:
		return number() + "," + number() + pick(r, "", ",", "-"+fmt.Sprint(last), "/3")
	case 9:
		if len(names) > 0 {
			return pick(r, names...)
		}
	case 10:
		if r.IntN(8) == 0 {
			return pick(r, "x", "-1", fmt.Sprint(last+1), "1-2-3", "1/2/3", "*/0", "5-2", ",", "1.5", "*-3", "L")
		}
	}
	return number()
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
