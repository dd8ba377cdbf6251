package argolua

import "time"

// date returns the time that the fields of a table stand for.
func date(field func(name string, otherwise int) int) time.Time {
	return time.Date(field("year", 1970), time.Month(field("month", 1)), field("day", 1),
		field("hour", 12), field("min", 0), field("sec", 0), 0, time.UTC)
}
