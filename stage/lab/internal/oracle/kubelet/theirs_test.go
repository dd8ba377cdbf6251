package kubelet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	cadvisorapi "github.com/google/cadvisor/info/v1"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	critest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"
	"k8s.io/kubernetes/pkg/kubelet/logs"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // the default one sleeps for as long as the last bubble was ahead
	if err := utilfeature.DefaultMutableFeatureGate.Set("KubeletEnsureSecretPulledImages=false"); err != nil {
		panic(err)
	}
	m.Run()
}

// theirs plays a Pod with the runtime manager of a kubelet.
type theirs struct {
	scenario
	history *history
	critestRuntime
	manager kuberuntime.KubeGenericRuntime
	backOff *flowcontrol.Backoff
	killed  bool
}

type critestRuntime struct {
	*critest.FakeRuntimeService
	world *theirs
}

func playTheirs(t *testing.T, s scenario) (lines []string) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &theirs{scenario: s, history: newHistory(time.Now()), backOff: flowcontrol.NewBackOff(10*time.Second, 300*time.Second)}
		w.pod = s.pod.DeepCopy()
		w.critestRuntime = critestRuntime{critest.NewFakeRuntimeService(), w}
		w.manager = w.newManager(t, dir)
		w.play(t)
		lines = w.history.lines()
	})
	return lines
}

func (w *theirs) newManager(t *testing.T, dir string) kuberuntime.KubeGenericRuntime {
	images := &images{critest.NewFakeImageService(), w}
	images.SetFakeImages([]string{"present:1"})
	containers := cm.NewFakeContainerManager()
	m, _, err := kuberuntime.NewKubeGenericRuntimeManager(
		context.Background(), recorder{w}, results.NewManager(), results.NewManager(), results.NewManager(), dir, dir, &cadvisorapi.MachineInfo{}, podStates{}, 10,
		&containertest.FakeOS{}, &containertest.FakeRuntimeHelper{}, nil, flowcontrol.NewBackOff(10*time.Second, 300*time.Second), false, nil, 0, 0, "", nil, "", "", nil, false,
		metav1.Duration{}, w.critestRuntime, images, containers, logs.NewStubContainerLogManager(), nil, false, "", func() corev1.ResourceList { return nil }, 0.9, "",
		pulls{}, noop.NewTracerProvider(), nil, nil, nil)
	require.NoError(t, err)
	return m
}

// play asks the manager each second, as long as anything changes.
func (w *theirs) play(t *testing.T) {
	start := time.Now()
	for now := time.Duration(0); now <= horizon && !w.killed; now = time.Since(start) {
		for range 20 {
			before := w.history.count()
			w.sync(t, now)
			if w.killed || w.history.count() == before {
				break
			}
		}
		time.Sleep(time.Second)
	}
}

func (w *theirs) sync(t *testing.T, now time.Duration) {
	ctx := context.Background()
	w.endThoseThatAreDone(time.Now())
	status := w.status(t)
	deadline := w.pod.Spec.ActiveDeadlineSeconds
	if w.deleted > 0 && now >= w.deleted || deadline != nil && now >= time.Duration(*deadline)*time.Second {
		if w.deleted > 0 && now >= w.deleted {
			w.pod.DeletionTimestamp, w.pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, w.pod.Spec.TerminationGracePeriodSeconds
		}
		w.killed = true
		require.NoError(t, w.manager.KillPod(ctx, w.pod, kubecontainer.ConvertPodStatusToRunningPod("fake", status), nil))
		return
	}
	if w.isTerminal(status) {
		w.killed = true
		require.NoError(t, w.manager.KillPod(ctx, w.pod, kubecontainer.ConvertPodStatusToRunningPod("fake", status), nil))
		return
	}
	w.manager.SyncPod(ctx, w.pod, status, nil, w.backOff, false)
}

// isTerminal reports whether the Pod has ended, so that a kubelet stops its containers instead.
func (w *theirs) isTerminal(status *kubecontainer.PodStatus) bool {
	var all []corev1.ContainerStatus
	for _, c := range append(append([]corev1.Container{}, w.pod.Spec.InitContainers...), w.pod.Spec.Containers...) {
		s := corev1.ContainerStatus{Name: c.Name, Started: new(true)}
		switch found := status.FindContainerStatusByName(c.Name); {
		case found == nil:
			s.State.Waiting = &corev1.ContainerStateWaiting{}
		case found.State == kubecontainer.ContainerStateRunning:
			s.State.Running = &corev1.ContainerStateRunning{}
		default:
			s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(found.ExitCode)}
		}
		all = append(all, s)
	}
	phase := getPhase(klog.Background(), w.pod, all, false, kubecontainer.HasAnyActiveRegularContainerStarted(&w.pod.Spec, status))
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

func (w *theirs) status(t *testing.T) *kubecontainer.PodStatus {
	ctx := context.Background()
	running, err := w.manager.GetPod(ctx, w.pod.UID)
	if errors.Is(err, kubecontainer.ErrPodNotFound) {
		return &kubecontainer.PodStatus{ID: w.pod.UID, Name: w.pod.Name, Namespace: w.pod.Namespace}
	}
	require.NoError(t, err)
	status, err := w.manager.GetPodStatus(ctx, running)
	require.NoError(t, err)
	return status
}

// endThoseThatAreDone ends the containers whose programs have ended.
func (w *theirs) endThoseThatAreDone(now time.Time) {
	w.Lock()
	defer w.Unlock()
	for _, c := range w.Containers {
		if at, ok := w.endOf(c); ok && !at.After(now) && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			w.exit(c, at, w.programs[c.Metadata.Name].code)
		}
	}
}

// endOf returns when a container ends by itself.
func (w *theirs) endOf(c *critest.FakeContainer) (time.Time, bool) {
	p := w.programs[c.Metadata.Name]
	return time.Unix(0, c.StartedAt).Add(p.runs), p.known
}

func (w *theirs) exit(c *critest.FakeContainer, at time.Time, code int32) {
	c.State, c.FinishedAt, c.ExitCode, c.Reason = runtimeapi.ContainerState_CONTAINER_EXITED, at.UnixNano(), code, "Completed"
	w.history.add(at, fmt.Sprintf("%s/%d exits with %d", c.Metadata.Name, c.Metadata.Attempt, code))
}

func (r critestRuntime) StartContainer(ctx context.Context, id string) error {
	err := r.FakeRuntimeService.StartContainer(ctx, id)
	r.Lock()
	defer r.Unlock()
	m := r.Containers[id].Metadata
	r.world.history.add(time.Now(), fmt.Sprintf("%s/%d starts", m.Name, m.Attempt))
	return err
}

// StopContainer lets a container that sleeps end by itself within the timeout, and kills it then.
func (r critestRuntime) StopContainer(_ context.Context, id string, timeout int64) error {
	r.Lock()
	c := r.Containers[id]
	end, known := r.world.endOf(c)
	r.Unlock()
	p := r.world.programs[c.Metadata.Name]
	at, code := time.Now(), int32(143)
	if p.known && p.runs > 0 {
		at, code = at.Add(time.Duration(timeout)*time.Second), 137
	}
	if known && !end.After(at) {
		at, code = end, p.code
	}
	time.Sleep(time.Until(at))
	r.Lock()
	defer r.Unlock()
	if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
		r.world.exit(c, at, code)
	}
	return nil
}

type images struct {
	*critest.FakeImageService
	world *theirs
}

func (i *images) PullImage(_ context.Context, image *runtimeapi.ImageSpec, _ *runtimeapi.AuthConfig, _ *runtimeapi.PodSandboxConfig) (string, error) {
	return "", fmt.Errorf("failed to pull and unpack image %q: not found", image.Image)
}

// A recorder notes the first of each Event.
type recorder struct{ world *theirs }

func (r recorder) Event(_ runtime.Object, kind, reason, message string) {
	r.world.history.event(time.Now(), kind, reason, message)
}

func (r recorder) Eventf(obj runtime.Object, kind, reason, format string, args ...any) {
	r.Event(obj, kind, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(obj runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(obj, kind, reason, format, args...)
}

func (r recorder) WithLogger(klog.Logger) record.EventRecorderLogger { return r }

type podStates struct{}

func (podStates) IsPodTerminationRequested(types.UID) bool { return false }
func (podStates) ShouldPodContentBeRemoved(types.UID) bool { return false }
func (podStates) ShouldPodRuntimeBeRemoved(types.UID) bool { return false }

type pulls struct{}

func (pulls) RecordImageStartedPulling(types.UID)  {}
func (pulls) RecordImageFinishedPulling(types.UID) {}
