package apiserver

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestCloseNamesWhatGoesOn: a function that does not heed its context holds up nobody for ever.
func TestCloseNamesWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s connections
		ctx, end, err := s.begin(t.Context(), "/api/v1/namespaces/default/pods/a/exec")
		require.NoError(t, err)
		_, heeds, err := s.begin(t.Context(), "/api/v1/namespaces/default/pods/b/exec")
		require.NoError(t, err)
		go func() {
			<-ctx.Done()
			heeds()
		}()
		require.ErrorContains(t, s.close(), "apiserver: /api/v1/namespaces/default/pods/a/exec goes on 10s after its context has ended")
		end()
		require.NoError(t, s.close())
		_, _, err = s.begin(t.Context(), "/")
		require.Error(t, err)
	})
}
