package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/cron"
)

func TestAfter(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for text, want := range map[string][]string{
		"*/20 9-10 * * mon": {"2026-01-05T08:00:00Z", "2026-01-05T08:20:00Z", "2026-01-05T08:40:00Z", "2026-01-05T09:00:00Z"},
		"0 0 13 * FRI":      {"2026-01-01T23:00:00Z", "2026-01-08T23:00:00Z", "2026-01-12T23:00:00Z"}, // either day
		"30 2 29 3 *":       {"2026-03-29T01:00:00Z", "2027-03-29T00:30:00Z"},                         // skipped by the clock, then not
		"0 12 29 2 7":       {"2026-02-01T11:00:00Z", "2026-02-08T11:00:00Z"},
	} {
		s, err := cron.Parse(text)
		require.NoError(t, err)
		var got []string
		for at := range s.After(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), berlin) {
			if got = append(got, at.UTC().Format(time.RFC3339)); len(got) == len(want) {
				break
			}
		}
		require.Equal(t, want, got, text)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"* * * *":     "want 5 fields, got 4",
		"60 * * * *":  `minute: want 0 to 59, got "60"`,
		"* 5-1 * * *": `hour: cannot read "5-1"`,
		"* * */0 * *": `day of month: cannot read "*/0"`,
	} {
		_, err := cron.Parse(text)
		require.EqualError(t, err, want)
	}
}
