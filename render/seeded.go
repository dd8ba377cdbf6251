package render

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// seeded are the functions whose sprig versions read the clock, the time zone of the machine or
// random numbers. These versions read the Input.
var seeded = map[string]func(s *state) any{
	"now":            func(s *state) any { return func() time.Time { return s.in.Now.UTC() } },
	"ago":            func(s *state) any { return s.ago },
	"durationRound":  func(s *state) any { return s.durationRound },
	"date":           func(s *state) any { return func(layout string, t any) string { return s.format(layout, t, "UTC") } },
	"dateInZone":     func(s *state) any { return s.format },
	"date_in_zone":   func(s *state) any { return s.format },
	"htmlDate":       func(s *state) any { return func(t any) string { return s.format(time.DateOnly, t, "UTC") } },
	"htmlDateInZone": func(s *state) any { return func(t any, zone string) string { return s.format(time.DateOnly, t, zone) } },
	"uuidv4":         func(s *state) any { return s.uuid },
	"shuffle":        func(s *state) any { return s.shuffle },
	"randInt":        func(s *state) any { return s.randInt },
	"randBytes":      func(s *state) any { return s.randBytes },
	"randNumeric":    func(s *state) any { return s.randText(digits) },
	"randAlpha":      func(s *state) any { return s.randText(letters) },
	"randAlphaNum":   func(s *state) any { return s.randText(digits + letters) },
	"randAscii":      func(s *state) any { return s.randText(ascii) },
}

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	ascii   = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
)

// moment reads a time, or seconds since 1970. Any other value means now.
func (s *state) moment(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v
	case *time.Time:
		if v != nil {
			return *v
		}
	case int, int32, int64:
		seconds, _ := object.ToInt64(v)
		return time.Unix(seconds, 0)
	}
	return s.in.Now
}

// format prints a time in a zone of the time zone database; in UTC if the zone is unknown.
func (s *state) format(layout string, t any, zone string) string {
	loc := time.UTC
	if found, err := time.LoadLocation(zone); err == nil && zone != "Local" {
		loc = found
	}
	return s.moment(t).In(loc).Format(layout)
}

func (s *state) ago(t any) string {
	return s.in.Now.Sub(s.moment(t)).Round(time.Second).String()
}

// durationRound prints a duration in the largest unit that it exceeds. A time counts as the
// duration since that time.
func (s *state) durationRound(v any) string {
	if t, ok := v.(time.Time); ok {
		v = int64(s.in.Now.Sub(t))
	}
	return sprigFuncs()["durationRound"].(func(any) string)(v)
}

func (s *state) uuid() string {
	rnd := s.random()
	hi := rnd.Uint64()&^0xf000 | 0x4000
	lo := rnd.Uint64()&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

func (s *state) shuffle(text string) string {
	runes := []rune(text)
	s.random().Shuffle(len(runes), func(i, j int) { runes[i], runes[j] = runes[j], runes[i] })
	return string(runes)
}

func (s *state) randInt(lo, hi int) (int, error) {
	if hi <= lo || hi-lo < 0 {
		return 0, fmt.Errorf("no number from %d to %d, exclusive", lo, hi)
	}
	return lo + s.random().IntN(hi-lo), nil
}

func (s *state) randBytes(count int) string {
	data := make([]byte, max(count, 0))
	for i := range data {
		data[i] = byte(s.random().Uint32())
	}
	return base64.StdEncoding.EncodeToString(data)
}

// randText returns a function that draws a number of characters from the alphabet.
func (s *state) randText(alphabet string) func(int) string {
	return func(count int) string {
		text := make([]byte, max(count, 0))
		for i := range text {
			text[i] = alphabet[s.random().IntN(len(alphabet))]
		}
		return string(text)
	}
}
