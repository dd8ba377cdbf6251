package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// bundle has at least one object of each kind that controllers are for.
func bundle() string {
	return clustertest.Manifest("storageclass", "bundle", "daemonset", "job", "cronjob")
}

func TestABundleBecomesCurrent(t *testing.T) {
	for name, source := range map[string]func() setting{
		"fast":    func() setting { return setting{nodes: 3} },
		"general": func() setting { return setting{nodes: 3, pods: presets.PodGeneral, seed: 7} },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, source())
			l.Load(bundle())
			l.Advance(12 * time.Minute)
			for _, of := range []struct{ kind, name string }{
				{"StatefulSet", "db"}, {"Deployment", "web"}, {"ReplicationController", "old"}, {"DaemonSet", "agent"}, {"Job", "sums"}, {"CronJob", "nightly"},
				{"PersistentVolumeClaim", "cache"}, {"PersistentVolumeClaim", "data-db-0"}, {"PersistentVolumeClaim", "data-db-1"},
				{"Service", "db"}, {"Service", "web"}, {"Endpoints", "web"}, {"Namespace", "default"}, {"Node", "node-000"},
			} {
				l.RequireCurrent(of.kind, of.name)
			}
			for _, kind := range []string{"ReplicaSet", "PersistentVolume", "EndpointSlice", "ControllerRevision"} {
				for _, obj := range l.List(kind, "") {
					l.RequireCurrent(kind, obj.GetName())
				}
			}
			require.Empty(t, l.Errors)
		})
	}
}
