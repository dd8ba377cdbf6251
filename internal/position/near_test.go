package position_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

func TestNearest(t *testing.T) {
	names := []string{"cron", "guards", "stages", "stage", "clusterSelectors"}
	for name, want := range map[string]string{
		"corn": "cron", "gaurds": "guards", "Stges": "stages", "clusterselctor": "clusterSelectors",
		"stage": "stage", "stagees": "stages", "": "", "x": "", "weight": "", "car": "", "selectors": "",
	} {
		require.Equal(t, want, position.Nearest(name, names), name)
	}
	require.Equal(t, "", position.Nearest("stage", nil))
}
