package presets_test

import (
	"flag"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

var update = flag.Bool("update", false, "rewrite the traces of the stories")

// TestStories plays the lives that the presets give to objects.
func TestStories(t *testing.T) {
	for story, sources := range map[string][]stage.Source{
		"node":        {presets.NodeFast(), presets.NodeHeartbeat()},
		"node_chaos":  {presets.NodeFast(), presets.NodeChaos()},
		"pod_fast":    {presets.PodFast()},
		"pod_general": {presets.PodGeneral()},
		"pod_chaos":   {presets.PodFast(), presets.PodChaos()},
		"volumes":     {presets.Volumes()},
	} {
		stagetest.Run(t, "testdata/"+story+".txtar", stagetest.Options{Update: *update, Stages: sources})
	}
}
