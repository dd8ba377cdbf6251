package cliutils_test

import (
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/watcher"
	"github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
)

// A status watcher that replaces the one of cli-utils, as in Zarf. The first events are the
// verdicts, then comes the sync event.
func ExampleNewStatusWatcher() {
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"status": map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ids := object.ObjMetadataSet{object.UnstructuredToObjMetadata(pod)}
	for e := range cliutils.NewStatusWatcher(cluster(pod), mapper(), cliutils.Options{}).Watch(ctx, ids, watcher.Options{}) {
		switch e.Type {
		case event.ResourceUpdateEvent:
			fmt.Println(e.Resource.Identifier.Name, e.Resource.Status, e.Resource.Message)
		case event.SyncEvent:
			cancel()
		}
	}
	// Output:
	// web Current Pod is Ready
}
