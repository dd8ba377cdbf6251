package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShow(t *testing.T) {
	var out bytes.Buffer
	ready, err := show(&out, []string{"testdata/web.yaml"}, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.False(t, ready)
	require.Contains(t, out.String(), "Deployment web: InProgress LessUpdated: Updated: 1/2 (by Kind)\n")
	_, err = show(&out, []string{"none.yaml"}, time.Time{})
	require.ErrorContains(t, err, "none.yaml")
}
