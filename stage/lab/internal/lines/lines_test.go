package lines_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
)

func read(from io.Reader) (list []string, err error) {
	r := lines.NewReader(from)
	for {
		line, err := r.Next()
		switch {
		case errors.Is(err, lines.ErrTooLong):
			list = append(list, "too long")
		case err != nil:
			return list, err
		default:
			list = append(list, string(line))
		}
	}
}

func TestReader(t *testing.T) {
	wide := strings.Repeat("w", 200_000)
	longest := strings.Repeat("x", lines.Longest)
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{" a \r\n\n b\n", []string{"a", "", "b"}},
		{wide + "\n" + wide, []string{wide, wide}},
		{"a\n" + longest + "more\nb\n", []string{"a", "too long", "b"}},
		{longest + longest, []string{"too long"}},
		{longest[1:] + "\nb", []string{longest[1:], "b"}},
	} {
		got, err := read(strings.NewReader(tc.text))
		require.ErrorIs(t, err, io.EOF)
		require.True(t, strings.Join(tc.want, "|") == strings.Join(got, "|"), "%.40q", tc.text)
	}
	failed := errors.New("no more")
	got, err := read(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(failed)))
	require.ErrorIs(t, err, failed)
	require.Equal(t, []string{"a"}, got, "the last line is not complete")
}

func TestLimit(t *testing.T) {
	line := strings.Repeat("x", lines.Longest-1) + "\n"
	n, err := io.Copy(io.Discard, lines.Limit(strings.NewReader(line+line)))
	require.NoError(t, err)
	require.EqualValues(t, 2*len(line), n)
	_, err = io.Copy(io.Discard, lines.Limit(strings.NewReader("a\n"+line[1:]+"b\n"+line)))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, lines.Limit(strings.NewReader("x"+line)))
	require.ErrorIs(t, err, lines.ErrTooLong)
}
