// Package schedules parses the schedules of CronJobs by github.com/robfig/cron, as
// kube-controller-manager and kube-apiserver do.
package schedules

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
)

// Parse parses five fields, a macro such as @daily, or @every with a duration, each optionally after
// a time zone (TZ=Europe/Berlin). Without a zone, times are in UTC. The texts of errors are those of
// Kubernetes. It accepts any text: the library panics on a zone without a schedule.
func Parse(text string) (cron.Schedule, error) {
	isZoned := strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=")
	switch {
	case isZoned && !strings.Contains(text, " "):
		return nil, fmt.Errorf("invalid schedule format: %s", text)
	case !isZoned && text != "":
		text = "TZ=UTC " + text
	}
	return cron.ParseStandard(text)
}
