package streams

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestUnreadInputIsBounded: a client waits while a command does not read, and no longer when it has
// ended.
func TestUnreadInputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, written := newBuffer(), 0
		go func() {
			for range 64 {
				n, err := b.Write(make([]byte, maxUnread/16))
				require.NoError(t, err)
				written += n
			}
		}()
		synctest.Wait()
		require.Equal(t, maxUnread, written)
		_, err := io.ReadFull(b, make([]byte, maxUnread/16))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, maxUnread+maxUnread/16, written)
		require.NoError(t, b.Close())
		synctest.Wait()
		require.Equal(t, 4*maxUnread, written, "nobody reads it any more")
		_, err = b.Read(make([]byte, 1))
		require.Error(t, err)
	})
}

// TestInputEndsAfterItsData has the reader get everything before the end.
func TestInputEndsAfterItsData(t *testing.T) {
	b := newBuffer()
	_, err := b.Write([]byte("last"))
	require.NoError(t, err)
	b.end(io.EOF)
	text, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, "last", string(text))
}
