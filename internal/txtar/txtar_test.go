package txtar_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		title, text string
		want        txtar.Archive
	}{
		{"nothing", "", txtar.Archive{}},
		{"a comment", "a\nb", txtar.Archive{Comment: []byte("a\nb\n")}},
		{"files", "a\n-- b --\nc\n-- d.yaml --\n", txtar.Archive{Comment: []byte("a\n"), Files: []txtar.File{{Name: "b", Data: []byte("c\n")}, {Name: "d.yaml"}}}},
		{"a file first", "-- b --\nc", txtar.Archive{Files: []txtar.File{{Name: "b", Data: []byte("c\n")}}}},
		{"spaces around a name", "--  b c  --\n", txtar.Archive{Files: []txtar.File{{Name: "b c"}}}},
		{"carriage returns", "-- b --\r\nc\r\n", txtar.Archive{Files: []txtar.File{{Name: "b", Data: []byte("c\r\n")}}}},
		{"lines that name no file", "-- --\n--  --\n--b--\n -- c --\n-- d\n", txtar.Archive{Comment: []byte("-- --\n--  --\n--b--\n -- c --\n-- d\n")}},
	} {
		t.Run(c.title, func(t *testing.T) { require.Equal(t, &c.want, txtar.Parse([]byte(c.text))) })
	}
}

func TestParseFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txtar")
	_, err := txtar.ParseFile(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("-- b --\n"), 0o600))
	a, err := txtar.ParseFile(name)
	require.NoError(t, err)
	require.Equal(t, &txtar.Archive{Files: []txtar.File{{Name: "b"}}}, a)
}

// FuzzRoundTrip checks that Parse reads the same archive from its formatted text, and that a second
// Format gives the same text.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []string{"", "a", "-- b --", "a\n-- b --\nc\n-- d --\r\ne", "--  b  --\n-- --\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := txtar.Parse(data)
		text := txtar.Format(a)
		require.Equal(t, a, txtar.Parse(text))
		require.Equal(t, text, txtar.Format(txtar.Parse(text)))
	})
}
