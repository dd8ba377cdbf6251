package hunted

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/hunting"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	hunt  = flag.Bool("kubernetes", false, "hunt the controllers of kube-controller-manager (make hunt-kubernetes)")
	runs  = flag.Int("runs", 100, "how many runs for each controller")
	gates = flag.String("gates", "off,on", "the staleness gates of KEP-5647")
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // they keep a timer from one bubble to the next
	os.Exit(m.Run())
}

// A program is one of kube-controller-manager's controllers, with others that it needs.
type program struct {
	kind     string
	manifest string
	gate     string // of KEP-5647
	start    func(context.Context, kubernetes.Interface, informers.SharedInformerFactory) ([]func(), error)
}

const workers = 1

var programs = []program{
	{"ReplicaSet", manifestOf("apps/v1", "ReplicaSet", "replicas: 3"), "ReplicaSet", func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
		return []func(){replicaSets(ctx, c, f)}, nil
	}},
	{"Deployment", manifestOf("apps/v1", "Deployment", "replicas: 3"), "ReplicaSet", func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
		apps := f.Apps().V1()
		d, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), f.Core().V1().Pods(), c)
		return []func(){func() { d.Run(ctx, workers) }, replicaSets(ctx, c, f)}, err
	}},
	{"StatefulSet", manifestOf("apps/v1", "StatefulSet", "replicas: 3, serviceName: a"), "StatefulSet", func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
		apps, core := f.Apps().V1(), f.Core().V1()
		s := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), c)
		return []func(){func() { s.Run(ctx, workers) }}, nil
	}},
	{"DaemonSet", manifestOf("apps/v1", "DaemonSet", ""), "DaemonSet", func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
		apps, core := f.Apps().V1(), f.Core().V1()
		d, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), c, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
		return []func(){func() { d.Run(ctx, workers) }}, err
	}},
	{"Job", `
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: default}
spec:
  parallelism: 3
  completions: 6
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "120"]}]}}
`,
		"Job", func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
			j, err := job.NewController(ctx, c, f.Core().V1().Pods(), f.Batch().V1().Jobs(), nil, nil)
			return []func(){func() { j.Run(ctx, workers) }}, err
		}},
}

func replicaSets(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) func() {
	rs := replicaset.NewReplicaSetController(ctx, f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), c, replicaset.BurstReplicas)
	return func() { rs.Run(ctx, workers) }
}

func manifestOf(version, kind, spec string) string {
	if spec != "" {
		spec += ", "
	}
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: a, namespace: default}, spec: {%sselector: {matchLabels: {app: a}}, "+
		"template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: 'i:1'}]}}}}", version, kind, spec)
}

// scenario is the same for all: users create an object, scale it, change its template, annotate it twice, and at
// the end delete it. What a kind has not, users do not do.
func (p program) scenario() hunting.Scenario {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: p.kind}
	scale, template := `{"spec":{"replicas":5}}`, `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}}`
	switch p.kind {
	case "Job":
		kind.Group, scale, template = "batch", `{"spec":{"parallelism":4}}`, ""
	case "DaemonSet":
		scale = ""
	}
	step := func(at time.Duration, patch string) hunting.Step {
		return hunting.Step{At: at, Do: func(lab *labtest.Lab) {
			if patch != "" {
				_, _ = lab.Cluster().Patch(context.Background(), kind, types.NamespacedName{Namespace: "default", Name: "a"}, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "user"}) // a Job may be done
			}
		}}
	}
	return hunting.Scenario{
		Start:   p.run,
		Objects: []any{p.manifest},
		Steps: []hunting.Step{
			step(time.Minute, scale), step(6*time.Minute, template),
			step(11*time.Minute, `{"metadata":{"annotations":{"note":"1"}}}`), step(16*time.Minute, `{"metadata":{"annotations":{"note":"2"}}}`),
		},
	}
}

// run is a life of kube-controller-manager.
func (p program) run(ctx context.Context, config *rest.Config) error {
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	controllers, err := p.start(ctx, client, factory)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	var all sync.WaitGroup
	for _, run := range controllers {
		all.Go(run)
	}
	all.Wait()
	factory.Shutdown()
	return nil
}

// theirs are the controllers of the lab that are not started: Kubernetes' controllers do their work.
var theirs = []string{"deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob"}

func ours(*memory.Cluster) []reconcile.Controller {
	return slices.DeleteFunc(labtest.Controllers(), func(c reconcile.Controller) bool {
		return slices.ContainsFunc(theirs, func(name string) bool { return strings.HasPrefix(strings.ToLower(c.Name), name) })
	})
}

// late is kubernetes#129795: Pods are made again while the watch of Pods is late.
func late(f hunting.Failure) bool {
	return f.Check == "nothing is made twice" && f.Fault.Do == hunting.Lag && f.Fault.Of == "pods"
}

// TestKubernetes hunts each controller with the gates of KEP-5647 off and on. With them off, kubernetes#129795 must be
// found, always again, and with them on it must be gone. README.md says what else is found.
func TestKubernetes(t *testing.T) {
	if !*hunt {
		t.Skip("make hunt-kubernetes")
	}
	for _, p := range programs {
		for _, gate := range strings.Split(*gates, ",") {
			t.Run(p.kind+"/"+gate, func(t *testing.T) {
				require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("StaleControllerConsistency%s=%t", p.gate, gate == "on")))
				o := hunting.Options{Runs: *runs, All: true, Lab: labtest.Options{OnlyControllers: true, Operator: ours}}
				begin := time.Now()
				report := hunting.Search(t, o, p.scenario())
				t.Logf("%d runs in %s", report.Runs, time.Since(begin).Round(time.Millisecond))
				for _, f := range report.Failures {
					t.Logf("%s", f)
				}
				if p.kind == "ReplicaSet" {
					found := slices.IndexFunc(report.Failures, late)
					require.Equal(t, gate == "off", found >= 0, "kubernetes#129795")
					assert.True(t, found < 0 || report.Failures[found].Again == 3)
				}
			})
		}
	}
}
