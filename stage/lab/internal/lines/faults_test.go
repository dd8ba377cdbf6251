package lines_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
)

func TestFirstFaults(t *testing.T) {
	var f lines.FirstFaults
	require.NoError(t, f.Err())
	for range lines.MaxFaults {
		require.False(t, f.Full())
		f.Add(errors.New("bad"))
	}
	require.True(t, f.Full())
	require.Equal(t, lines.MaxFaults-1, strings.Count(f.Err().Error(), "\n"))
	f.Add(errors.New("bad"))
	f.Add(errors.New("bad"))
	require.True(t, strings.HasSuffix(f.Err().Error(), "bad\nand 2 more faults"))
	require.Equal(t, lines.MaxFaults+2, f.Len())
}
