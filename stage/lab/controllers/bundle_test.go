package controllers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

func TestABundleBecomesCurrent(t *testing.T) {
	for name, o := range map[string]clustertest.Options{
		"fast":    {Nodes: 3},
		"general": {Nodes: 3, Pods: presets.PodGeneral, Seed: 7},
		"slow":    {Nodes: 3, Pods: presets.PodGeneral, Seed: 7, Timing: simulation.ClusterLike()},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, o)
			c.Load(clustertest.Bundle())
			c.Advance(12 * time.Minute)
			for _, of := range []struct{ kind, name string }{
				{"StatefulSet", "db"}, {"Deployment", "web"}, {"ReplicationController", "old"}, {"DaemonSet", "agent"}, {"Job", "sums"}, {"CronJob", "nightly"},
				{"PersistentVolumeClaim", "cache"}, {"PersistentVolumeClaim", "data-db-0"}, {"PersistentVolumeClaim", "data-db-1"},
				{"Service", "db"}, {"Service", "web"}, {"Endpoints", "web"}, {"Namespace", "default"}, {"Node", "node-000"},
			} {
				c.RequireCurrent(of.kind, of.name)
			}
			for _, kind := range []string{"ReplicaSet", "PersistentVolume", "EndpointSlice", "ControllerRevision"} {
				for _, obj := range c.List(kind, "") {
					c.RequireCurrent(kind, obj.GetName())
				}
			}
			if o.Timing != nil { // others were faster
				c.Errors = slices.DeleteFunc(c.Errors, func(e string) bool { return strings.Contains(e, "the object has been modified") })
			}
			require.Empty(t, c.Errors)
		})
	}
}
