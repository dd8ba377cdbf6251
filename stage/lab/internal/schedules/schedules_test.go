package schedules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/schedules"
)

// FuzzParse checks that no text panics, and that times of a schedule come later and later.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "*/5 * * * *", "@daily", "@every 1h", "TZ=UTC", "CRON_TZ=Europe/Berlin 0 3 * * MON-FRI", "TZ= @hourly", "0 0 31 2 ?", "1-5/9223372036854775807 1 1 1 1", "@every -1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedules.Parse(text)
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
		for range 3 {
			next := s.Next(at)
			if next.IsZero() {
				return
			}
			require.True(t, next.After(at), "%q: %s after %s", text, next, at)
			at = next
		}
	})
}
