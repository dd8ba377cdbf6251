package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFirstFailure(t *testing.T) {
	require.Equal(t, "no Pod", firstFailure([]byte("STEP: x\n  [FAILED] no Pod\n  [FAILED] later\n")))
	require.Equal(t, "timed out", firstFailure([]byte("[TIMEDOUT] A suite timeout occurred\n")))
	require.Equal(t, "no message", firstFailure(nil))
}
