package batch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scheduleMacros are the schedules that have a name.
var scheduleMacros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseSchedule reads five fields, a macro, or @every with a duration, each optionally after a time
// zone (TZ=Europe/Berlin). Texts of errors are those that Events have.
func parseSchedule(text string) (schedule, error) {
	if text == "" {
		return nil, errors.New("empty spec string")
	}
	zone, text, err := cutZone(text)
	if err != nil {
		return nil, err
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		d, err := time.ParseDuration(every)
		if err != nil {
			return nil, fmt.Errorf("failed to parse duration %s: %w", text, err)
		}
		return newInterval(d), nil
	}
	if strings.HasPrefix(text, "@") {
		named, ok := scheduleMacros[text]
		if !ok {
			return nil, fmt.Errorf("unrecognized descriptor: %s", text)
		}
		text = named
	}
	return parseCalendar(text, zone)
}

func cutZone(text string) (*time.Location, string, error) {
	if !strings.HasPrefix(text, "TZ=") && !strings.HasPrefix(text, "CRON_TZ=") {
		return time.UTC, text, nil
	}
	prefix, rest, ok := strings.Cut(text, " ")
	if !ok {
		return nil, "", fmt.Errorf("invalid schedule format: %s", text)
	}
	_, name, _ := strings.Cut(prefix, "=")
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, "", fmt.Errorf("provided bad location %s: %w", name, err)
	}
	return zone, strings.TrimSpace(rest), nil
}

// A calendarField is one of the five, with the names that may stand for numbers, the lowest first.
type calendarField struct {
	min, max int
	names    []string
}

var calendarFields = []calendarField{
	{max: 59},
	{max: 23},
	{min: 1, max: 31},
	{min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{max: 6, names: strings.Fields("sun mon tue wed thu fri sat")},
}

func parseCalendar(text string, zone *time.Location) (*calendar, error) {
	parts := strings.Fields(text)
	if len(parts) != len(calendarFields) {
		return nil, fmt.Errorf("expected exactly %d fields, found %d: %s", len(calendarFields), len(parts), parts)
	}
	c := &calendar{zone: zone}
	sets := []*uint64{&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays}
	for i, part := range parts {
		set, star, err := calendarFields[i].parse(part)
		if err != nil {
			return nil, err
		}
		*sets[i] = set
		c.bothDays = c.bothDays || star && (i == 2 || i == 4)
	}
	return c, nil
}

// parse reads a list of ranges. Star says that one of them is * without a step.
func (f calendarField) parse(text string) (set uint64, star bool, err error) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		more, isStar, err := f.parseRange(part)
		if err != nil {
			return 0, false, err
		}
		set, star = set|more, star || isStar
	}
	return set, star, nil
}

func (f calendarField) parseRange(text string) (set uint64, star bool, err error) {
	span, stepText, stepped := strings.Cut(text, "/")
	low, _, ranged := strings.Cut(span, "-")
	if strings.Contains(stepText, "/") {
		return 0, false, fmt.Errorf("too many slashes: %s", text)
	}
	first, last, star := f.min, f.max, low == "*" || low == "?"
	if !star {
		if first, last, err = f.ends(text, span); err != nil {
			return 0, false, err
		}
	}
	step := 1
	if stepped {
		if step, err = parseNumber(stepText); err != nil {
			return 0, false, err
		}
		if !ranged {
			last = f.max
		}
	}
	if err := f.check(text, first, last, step); err != nil {
		return 0, false, err
	}
	for n := first; n <= last; n += step {
		set |= 1 << n
	}
	return set, star && step == 1, nil
}

// ends returns the first and last number of a span; they are the same if there is no hyphen.
func (f calendarField) ends(text, span string) (first, last int, err error) {
	numbers := strings.Split(span, "-")
	if len(numbers) > 2 {
		return 0, 0, fmt.Errorf("too many hyphens: %s", text)
	}
	if first, err = f.number(numbers[0]); err != nil {
		return 0, 0, err
	}
	last, err = f.number(numbers[len(numbers)-1])
	return first, last, err
}

func (f calendarField) check(text string, first, last, step int) error {
	switch {
	case first < f.min:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", first, f.min, text)
	case last > f.max:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", last, f.max, text)
	case first > last:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", first, last, text)
	case step == 0:
		return fmt.Errorf("step of range should be a positive number: %s", text)
	}
	return nil
}

func (f calendarField) number(text string) (int, error) {
	for i, name := range f.names {
		if name == strings.ToLower(text) {
			return f.min + i, nil
		}
	}
	return parseNumber(text)
}

func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", text, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, text)
	}
	return n, nil
}
