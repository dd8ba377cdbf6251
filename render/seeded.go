package render

import (
	"fmt"
	"math/rand/v2"
	"time"

	"encoding/base64"
)

// seeded are the functions that sprig feeds from the clock, the zone of the machine and chance; these read the Input.
var seeded = map[string]func(r *run) any{
	"now":            func(r *run) any { return func() time.Time { return r.in.Now.UTC() } },
	"ago":            func(r *run) any { return r.ago },
	"durationRound":  func(r *run) any { return r.durationRound },
	"date":           func(r *run) any { return func(layout string, t any) string { return r.format(layout, t, "UTC") } },
	"dateInZone":     func(r *run) any { return r.format },
	"date_in_zone":   func(r *run) any { return r.format },
	"htmlDate":       func(r *run) any { return func(t any) string { return r.format(time.DateOnly, t, "UTC") } },
	"htmlDateInZone": func(r *run) any { return func(t any, zone string) string { return r.format(time.DateOnly, t, zone) } },
	"uuidv4":         func(r *run) any { return r.uuid },
	"shuffle":        func(r *run) any { return r.shuffle },
	"randInt":        func(r *run) any { return r.randInt },
	"randBytes":      func(r *run) any { return r.randBytes },
	"randNumeric":    func(r *run) any { return r.randText(digits) },
	"randAlpha":      func(r *run) any { return r.randText(letters) },
	"randAlphaNum":   func(r *run) any { return r.randText(digits + letters) },
	"randAscii":      func(r *run) any { return r.randText(ascii()) },
}

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func ascii() string {
	var s []byte
	for c := byte(' '); c <= '~'; c++ {
		s = append(s, c)
	}
	return string(s)
}

// moment reads a time or seconds since 1970; anything else is now.
func (r *run) moment(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v
	case *time.Time:
		if v != nil {
			return *v
		}
	case int64:
		return time.Unix(v, 0)
	case int:
		return time.Unix(int64(v), 0)
	case int32:
		return time.Unix(int64(v), 0)
	}
	return r.in.Now
}

// format prints in a zone of the database, in UTC if it has none of that name.
func (r *run) format(layout string, t any, zone string) string {
	loc := time.UTC
	if found, err := time.LoadLocation(zone); err == nil && zone != "Local" {
		loc = found
	}
	return r.moment(t).In(loc).Format(layout)
}

func (r *run) ago(t any) string {
	return r.in.Now.Sub(r.moment(t)).Round(time.Second).String()
}

// roundings are the units of durationRound, largest first.
var roundings = [...]struct {
	length uint64
	name   string
}{
	{uint64(365 * 24 * time.Hour), "y"}, {uint64(30 * 24 * time.Hour), "mo"}, {uint64(24 * time.Hour), "d"},
	{uint64(time.Hour), "h"}, {uint64(time.Minute), "m"}, {uint64(time.Second), "s"},
}

// durationRound prints a duration in the largest unit that it exceeds; a time stands for the time since then.
func (r *run) durationRound(v any) string {
	var d time.Duration
	switch v := v.(type) {
	case string:
		d, _ = time.ParseDuration(v)
	case int64:
		d = time.Duration(v)
	case time.Time:
		d = r.in.Now.Sub(v)
	}
	u := uint64(d)
	if d < 0 {
		u = -u
	}
	for _, unit := range roundings {
		if u > unit.length {
			return fmt.Sprint(u/unit.length, unit.name)
		}
	}
	return "0s"
}

func (r *run) uuid() string {
	rnd := r.random()
	hi := rnd.Uint64()&^0xf000 | 0x4000
	lo := rnd.Uint64()&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

func (r *run) shuffle(s string) string {
	runes := []rune(s)
	r.random().Shuffle(len(runes), func(i, j int) { runes[i], runes[j] = runes[j], runes[i] })
	return string(runes)
}

func (r *run) randInt(lo, hi int) (int, error) {
	if hi <= lo || hi-lo < 0 {
		return 0, fmt.Errorf("no number from %d to %d, exclusive", lo, hi)
	}
	return lo + r.random().IntN(hi-lo), nil
}

func (r *run) randBytes(count int) string {
	data := make([]byte, max(count, 0))
	for i := range data {
		data[i] = byte(r.random().Uint32())
	}
	return base64.StdEncoding.EncodeToString(data)
}

// randText returns the function that draws so many characters of the alphabet.
func (r *run) randText(alphabet string) func(int) string {
	return func(count int) string { return draw(r.random(), alphabet, count) }
}

func draw(rnd *rand.Rand, alphabet string, count int) string {
	s := make([]byte, max(count, 0))
	for i := range s {
		s[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(s)
}
