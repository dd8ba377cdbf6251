package kstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func TestExtended(t *testing.T) { runCases(t, "extended", kstatus.Extended()) }

// TestExtendedAllocatesNothing measures what is usual: objects that are as they should be. Conditions in an annotation have to be decoded.
func TestExtendedAllocatesNothing(t *testing.T) {
	for _, file := range caseFiles(t, "extended") {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, c := range archive.Files {
			obj := parse(t, string(c.Data))
			if kstatus.Extended().Compute(obj, now).Status == kstatus.Current && c.Name != "version one hides its conditions" {
				require.Zero(t, testing.AllocsPerRun(10, func() { kstatus.Extended().Compute(obj, now) }), c.Name)
			}
		}
	}
}
