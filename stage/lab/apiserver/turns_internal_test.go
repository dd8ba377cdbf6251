package apiserver

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTurns: no more goroutines than there are turns go on at the same time, but one that waits for its client
// loses its turn, and only once.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, read := make(turns, 2), make(chan struct{})
		var begun, ended atomic.Int64
		for range 10 {
			go func() {
				own := turn{of: all}
				for range 3 {
					own.begin()
					begun.Add(1)
					<-read
					own.end()
				}
				ended.Add(1)
			}()
		}
		for n := range 5 {
			synctest.Wait()
			require.EqualValues(t, 2*(n+1), begun.Load(), "at once, after %d times the patience", n)
			time.Sleep(patienceWithClients)
		}
		close(read)
		synctest.Wait()
		require.EqualValues(t, 10, ended.Load())
		require.EqualValues(t, 30, begun.Load())
		require.Empty(t, all, "turns that are taken")
	})
}

// TestEndsOfConnectionsTakeTurns: a connection that its client has left waits for a turn, which is free again when
// the server has closed it too.
func TestEndsOfConnectionsTakeTurns(t *testing.T) {
	for _, tc := range []struct {
		err   error
		waits bool
	}{
		{io.EOF, true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
		{&net.OpError{Op: "read", Err: net.ErrClosed}, false}, // by the server
	} {
		t.Run(tc.err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := make(turns, 1)
				all <- struct{}{} // somebody has it
				c := &fairConnection{Conn: ending{err: tc.err}, last: turn{of: all}}
				var read atomic.Bool
				go func() {
					_, err := c.Read(nil)
					require.Equal(t, tc.err, err)
					read.Store(true)
					require.NoError(t, c.Close())
				}()
				synctest.Wait()
				require.Equal(t, !tc.waits, read.Load())
				<-all
				synctest.Wait()
				require.True(t, read.Load())
				require.Empty(t, all)
			})
		})
	}
}

// An ending is a connection that can only end.
type ending struct {
	net.Conn
	err error
}

func (c ending) Read([]byte) (int, error) { return 0, c.err }

func (c ending) Close() error { return nil }
