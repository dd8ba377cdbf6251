package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/schedules"
)

// schedule checks the schedule of a CronJob as validateScheduleFormat of batch/validation does, which
// reads it by github.com/robfig/cron.
func schedule(f fieldOf) {
	s := text(f.value)
	if s == "" {
		return
	}
	if _, err := schedules.Parse(s); err != nil {
		f.add(field.Invalid(f.path(), s, err.Error()))
	}
	if strings.Contains(s, "TZ") && f.before == nil {
		f.add(field.Invalid(f.path(), s, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
}
