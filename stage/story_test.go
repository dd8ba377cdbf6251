package stage_test

import (
	"flag"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

var update = flag.Bool("update", false, "rewrite the traces of the stories")

// TestStories plays testdata/*.txtar. Only a few transitions at one instant are a livelock, to keep
// the traces short.
func TestStories(t *testing.T) {
	stagetest.Run(t, "testdata/*.txtar", stagetest.Options{Update: *update, LivelockLimit: 5})
}
