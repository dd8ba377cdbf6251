package e2e_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// rollouts is for how long TestControllersOfKubernetes rolls out. make controllers-e2e: five minutes.
var rollouts = flag.Duration("rollouts", 5*time.Second, "for how long the controllers of Kubernetes roll out on the server in memory")

// expectedLogs are errors in the logs of the controllers that have a reason.
var expectedLogs = map[string]*regexp.Regexp{
	"of kube-scheduler, without a file of configuration":                    regexp.MustCompile(`The manifest file is empty`),
	"a roll-out deletes Pods that are just being scheduled":                 regexp.MustCompile(`pods \\*"[^"]*" (not found|is being deleted)|is being deleted, cannot be assigned`),
	"an informer is behind what its controller wrote, which it tries again": regexp.MustCompile(`read version: \d+ is not as new as written version: \d+`),
}

// TestControllersOfKubernetes runs kube-controller-manager and kube-scheduler on the server in
// memory, without our own controllers. Rollouts complete, and the logs have only the expected
// errors.
func TestControllersOfKubernetes(t *testing.T) {
	user := serveLab(t, labtest.Options{Nodes: -1, Start: time.Now(), OnlyControllers: true, OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodFast()}})
	config, err := clientcmd.BuildConfigFromFlags("", user.kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	_, err = client.CoreV1().Nodes().Create(t.Context(), helmNode(), metav1.CreateOptions{})
	require.NoError(t, err)
	common := []string{"--kubeconfig=" + user.kubeconfig, "--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true", "--kube-api-qps=1000", "--kube-api-burst=2000"}
	const controllers = "--controllers=deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller,cronjob-controller,endpointslice-controller,disruption-controller,node-lifecycle-controller,taint-eviction-controller,horizontal-pod-autoscaler-controller"
	programs := []*loggedProgram{
		startLogged(t, "kube-controller-manager", append(common, controllers)...),
		startLogged(t, "kube-scheduler", append(common[:3:3], "--kube-api-qps=1000", "--kube-api-burst=2000", "--authentication-tolerate-lookup-failure=true")...),
	}
	_, err = client.AppsV1().Deployments("default").Create(t.Context(), threePods(), metav1.CreateOptions{})
	require.NoError(t, err)
	end, n := time.Now().Add(*rollouts), 0
	for ; n < 2 || time.Now().Before(end); n++ {
		rollOut(t, client, fmt.Sprint("nginx:", n))
	}
	t.Logf("%d roll-outs in %s", n, *rollouts)
	for _, p := range programs {
		for line := range strings.Lines(p.stop()) {
			if strings.HasPrefix(line, "E") && !isExpected(line) {
				t.Errorf("%s", line)
			}
		}
	}
}

func isExpected(line string) bool {
	for _, pattern := range expectedLogs {
		if pattern.MatchString(line) {
			return true
		}
	}
	return false
}

// threePods is a Deployment as users write it.
func threePods() *appsv1.Deployment {
	labels := map[string]string{"app": "defaults"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "defaults", Namespace: "default"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}},
	}}
}

// rollOut changes the image, and waits until all Pods have it.
func rollOut(t *testing.T, client kubernetes.Interface, image string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":%q}]}}}}`, image)
	d, err := client.AppsV1().Deployments("default").Patch(t.Context(), "defaults", "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	generation := d.Generation
	require.NoError(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		d, err := client.AppsV1().Deployments("default").Get(ctx, "defaults", metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration >= generation && d.Status.UpdatedReplicas == 3 && d.Status.AvailableReplicas == 3 && d.Status.Replicas == 3, err
	}))
}

// A loggedProgram is a process and its output.
type loggedProgram struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

// stop ends the process and returns its log.
func (p *loggedProgram) stop() string {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return p.log.String()
}

// startLogged starts a program for the time of a test.
func startLogged(t *testing.T, program string, args ...string) *loggedProgram {
	path := plane.Program(program)
	if _, err := exec.LookPath(path); err != nil {
		t.Skip("no", program, "beside kube-apiserver")
	}
	p := &loggedProgram{cmd: exec.Command(path, args...)}
	p.cmd.Stderr = &p.log
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { p.stop() })
	return p
}
