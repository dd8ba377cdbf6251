package apiserver_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// untilAvailable waits until a Deployment is available for as long as it wants, by the clock of the
// cluster, and returns when it was made and when it became that.
func untilAvailable(t *testing.T, client kubernetes.Interface, minReady int32) (made, available time.Time) {
	d := deployment("web", 1)
	deadline := minReady + 600
	d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = minReady, &deadline
	stored, err := client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{})
	require.NoError(t, err)
	w, err := client.AppsV1().Deployments("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: stored.ResourceVersion})
	require.NoError(t, err)
	defer w.Stop()
	e, err := watchtools.UntilWithoutRetry(t.Context(), w, func(e watch.Event) (bool, error) {
		d, isDeployment := e.Object.(*appsv1.Deployment)
		return isDeployment && d.Status.AvailableReplicas == 1, nil
	})
	require.NoError(t, err)
	return stored.CreationTimestamp.Time, availableSince(e.Object.(*appsv1.Deployment))
}

func availableSince(d *appsv1.Deployment) (since time.Time) {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

// TestVirtualTime is a program in virtual time: an hour in which a Pod has to stay ready.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t)
		client := kubernetes.NewForConfigOrDie(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
		begin := time.Now()
		d, deadline := deployment("web", 1), int32(7200)
		d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = 3600, &deadline
		_, err := client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{})
		require.NoError(t, err)
		lab.Advance(2 * time.Hour) // the lab and the client wait in the same time
		require.Equal(t, 2*time.Hour, time.Since(begin))
		stored, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, availableSince(stored).Sub(stored.CreationTimestamp.Time), time.Hour)
	})
}

// TestFastTime is a program in fast time: for clients outside of a bubble the hour is over in a second.
func TestFastTime(t *testing.T) { follow(t, 3600, 3600) }

// TestRealTime is a program in real time.
func TestRealTime(t *testing.T) { follow(t, 1, 1) }

// follow lets a lab follow the clock of the machine, speed times as fast.
func follow(t *testing.T, speed float64, minReady int32) {
	lab := labtest.New(t, labtest.Options{Start: time.Now()})
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- lab.Simulation().Follow(ctx, speed) }()
	made, available := untilAvailable(t, client, minReady)
	require.GreaterOrEqual(t, available.Sub(made), time.Duration(minReady)*time.Second)
	stop()
	require.NoError(t, <-done)
}

// TestEveryOptionHasAProgram holds that README.md has a section on each option and each mode of time,
// and that the program it names is one of the tests.
func TestEveryOptionHasAProgram(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	programs := map[string]bool{}
	for _, file := range []string{"example_test.go", "time_test.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				programs[f.Name.Name] = true
			}
		}
	}
	wanted := []string{"ExampleStart", "ExampleListen", "ExampleNew", "TestVirtualTime", "TestFastTime", "TestRealTime"}
	options := reflect.TypeFor[apiserver.Options]()
	for i := range options.NumField() {
		if f := options.Field(i); f.IsExported() {
			wanted = append(wanted, "ExampleOptions_"+string(f.Name[0]|0x20)+f.Name[1:])
			require.Contains(t, string(text), "## Options."+f.Name+"\n")
		}
	}
	for _, name := range wanted {
		require.True(t, programs[name], "no program %s", name)
		require.Contains(t, string(text), name)
	}
}
