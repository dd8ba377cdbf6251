package validation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schedule checks the schedule of a CronJob as validateScheduleFormat of batch/validation does, which
// reads it by github.com/robfig/cron.
func schedule(f fieldOf) {
	s := text(f.value)
	if s == "" {
		return
	}
	if err := faultOfSchedule(s); err != nil {
		f.add(field.Invalid(f.path(), s, err.Error()))
	}
	if strings.Contains(s, "TZ") && f.before == nil {
		f.add(field.Invalid(f.path(), s, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
}

var (
	descriptors = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
	cronFields  = []struct {
		least, most int
		names       string
	}{{0, 59, ""}, {0, 23, ""}, {1, 31, ""}, {1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {0, 6, "sun mon tue wed thu fri sat"}}
)

func faultOfSchedule(s string) error {
	if strings.HasPrefix(s, "TZ=") || strings.HasPrefix(s, "CRON_TZ=") {
		_, s, _ = strings.Cut(s, " ")
		s = strings.TrimSpace(s)
	}
	every, isEvery := strings.CutPrefix(s, "@every ")
	switch {
	case isEvery:
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Errorf("failed to parse duration %s: %w", s, err)
		}
		return nil
	case slices.Contains(descriptors, s):
		return nil
	case strings.HasPrefix(s, "@"):
		return fmt.Errorf("unrecognized descriptor: %s", s)
	}
	parts := strings.Fields(s)
	if len(parts) != len(cronFields) {
		return fmt.Errorf("expected exactly %d fields, found %d: %s", len(cronFields), len(parts), parts)
	}
	for i, part := range parts {
		for expr := range strings.SplitSeq(part, ",") {
			if err := faultOfRange(i, expr); expr != "" && err != nil {
				return err
			}
		}
	}
	return nil
}

// faultOfRange is getRange of robfig/cron.
func faultOfRange(i int, expr string) error {
	of := cronFields[i]
	parts := strings.Split(expr, "/")
	ends := strings.Split(parts[0], "-")
	first, last, err := of.least, of.most, error(nil)
	if ends[0] != "*" && ends[0] != "?" {
		if len(ends) > 2 {
			return fmt.Errorf("too many hyphens: %s", expr)
		}
		if first, err = cronNumber(ends[0], of.names, of.least); err != nil {
			return err
		}
		if last, err = cronNumber(ends[len(ends)-1], of.names, of.least); err != nil {
			return err
		}
	}
	step := 1
	switch len(parts) {
	case 1:
	case 2:
		if step, err = cronNumber(parts[1], "", 0); err != nil {
			return err
		}
		if len(ends) == 1 {
			last = of.most
		}
	default:
		return fmt.Errorf("too many slashes: %s", expr)
	}
	switch {
	case first < of.least:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", first, of.least, expr)
	case last > of.most:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", last, of.most, expr)
	case first > last:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", first, last, expr)
	case step == 0:
		return fmt.Errorf("step of range should be a positive number: %s", expr)
	}
	return nil
}

func cronNumber(s, names string, least int) (int, error) {
	if at := slices.Index(strings.Fields(names), strings.ToLower(s)); at >= 0 {
		return at + least, nil
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("failed to parse int from %s: %w", s, err)
	case n < 0:
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, s)
	}
	return n, nil
}
