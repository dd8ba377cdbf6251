package kube

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// A server that is only busy is asked again, one that refuses is not.
func TestTheVersionIsAskedForUntilThereIsAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		asks int
		ends bool // whether it is known in the end
	}{
		"busy":        {apierrors.NewTooManyRequests("later", 1), 2, true},
		"failing":     {apierrors.NewInternalError(errors.New("etcd")), 2, true},
		"unreachable": {errors.New("connection refused"), 2, true},
		"forbidden":   {apierrors.NewForbidden(schema.GroupResource{}, "", nil), 1, false},
		"without one": {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "", 0, false), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asks := 0
				a := &age{ask: func(context.Context) (*version.Info, error) {
					if asks++; asks == 1 {
						return nil, c.err
					}
					return &version.Info{Major: "1", Minor: "36"}, nil
				}}
				for range 3 {
					require.False(t, a.known(t.Context()))
				}
				require.Equal(t, 1, asks)
				time.Sleep(rediscovery)
				require.Equal(t, c.ends, a.known(t.Context()))
				require.Equal(t, c.ends, a.known(t.Context()))
				require.Equal(t, c.asks, asks)
			})
		})
	}
}
