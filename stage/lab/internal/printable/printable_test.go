package printable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
)

func TestText(t *testing.T) {
	for given, want := range map[string]string{
		"":                          "",
		`a "plain" text, größer \n`: `a "plain" text, größer \n`,
		"one\ntwo\r\tthree":         `one\ntwo\r\tthree`,
		"\x1b[31mred\a\x7f\u0085":   `\x1b[31mred\a\x7f\u0085`,
		"left\u202eright\u2028":     `left\u202eright\u2028`,
		"\xff\xfe is no UTF-8":      `\xff\xfe is no UTF-8`,
		"\ufffd is":                 `\ufffd is`,
	} {
		require.Equal(t, want, printable.Text(given))
	}
	require.Equal(t, `a\nb`, printable.Error(errors.New("a\nb")))
	long := strings.Repeat("ä", 4000)
	cut := printable.Text(long)
	require.Equal(t, long[:1024]+"… (8000 bytes)", cut)
	exact := strings.Repeat("a", printable.Longest)
	require.Equal(t, exact, printable.Text(exact))
	require.LessOrEqual(t, len(printable.Text(strings.Repeat("\x00", 1<<20))), 5<<10)
}
