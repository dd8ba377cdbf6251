package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// defining counts who asks for definitions, and may refuse to tell them.
type defining struct {
	*memory.Cluster
	asked int
	err   error
}

func (d *defining) Definition(ctx context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if d.asked++; d.err != nil {
		return nil, d.err
	}
	return d.Cluster.Definition(ctx, kind)
}

// widgetsWith is the definition of a kind with a schema and subresources.
func widgetsWith(version string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
  spec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced,
    versions: [{name: v1, served: true, storage: true, ` + version + `}]}}`
}

const (
	withoutStatus = `schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}`
	withStatus    = `subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {phase: {type: string}}}}}}`
)

// TestDefinitionsWhileWaiting waits for three objects whose own verdict is a guess.
func TestDefinitionsWhileWaiting(t *testing.T) {
	for _, c := range []struct {
		name, version string
		err           error
		alone         bool // without definitions
		after         time.Duration
		end           error
	}{
		{name: "no status", version: withoutStatus},
		{name: "a status subresource", version: withStatus, after: 20 * time.Minute, end: context.DeadlineExceeded},
		{name: "refused", version: withStatus, err: errors.New("refused"), after: 5 * time.Minute},
		{name: "no reader", version: withStatus, alone: true, after: 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{t, memory.New(memory.Options{})}
				w.create(widgetsWith(c.version))
				refs := []wait.Ref{widget, ref("example.com/v1", "Widget", "b"), ref("example.com/v1", "Widget", "c")}
				for _, r := range refs {
					w.create(manifest(r, ""))
				}
				cluster := &defining{Cluster: w.Cluster, err: c.err}
				var lister transport.Lister = cluster
				if c.alone {
					lister = struct{ transport.Reader }{cluster}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
				defer cancel()
				began := time.Now()
				err := wait.For(ctx, lister, refs, wait.Policy{})
				require.ErrorIs(t, err, c.end)
				require.InDelta(t, c.after, time.Since(began), float64(time.Second))
				require.Equal(t, !c.alone, cluster.asked == 1, "once for all objects of the kind: %d", cluster.asked)
			})
		})
	}
}

func TestAStatusSubresourceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(widgetsWith(withStatus), manifest(widget, ""))
		var seen []string
		go func() {
			time.Sleep(10 * time.Minute)
			_, err := w.Patch(context.Background(), widget.Kind, name(widget), types.MergePatchType, []byte(`{"status":{"phase":"Ready"}}`), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
		}()
		err := wait.For(t.Context(), &defining{Cluster: w.Cluster}, []wait.Ref{widget}, wait.Policy{Observe: func(_ *wait.Collector, s wait.State) {
			seen = append(seen, s.Result.String())
			require.NoError(t, s.Err)
		}})
		require.NoError(t, err)
		require.Equal(t, []string{"InProgress NoStatus: Nothing has reported a status yet", "Current: phase is Ready"}, seen)
	})
}

// TestADefinitionThatHangs does not hold up the wait for longer than ten seconds.
func TestADefinitionThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(widgetsWith(withoutStatus), manifest(widget, ""), manifest(web, "status: "+podReady))
		began := time.Now()
		err := wait.For(t.Context(), slowDefinitions{w.Cluster}, []wait.Ref{widget, web}, wait.Policy{Goals: map[wait.Ref]wait.Goal{widget: {Status: kstatus.InProgress}}})
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

type slowDefinitions struct{ *memory.Cluster }

func (slowDefinitions) Definition(ctx context.Context, _ schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
