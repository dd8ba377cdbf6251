package e2e_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A moduleChart is a chart in the zip of a Go module, which the module proxy serves.
type moduleChart struct {
	module, version, dir string
	values               map[string]any
}

var moduleCharts = map[string]moduleChart{
	"cert-manager": {
		module: "github.com/cert-manager/cert-manager", version: "v1.21.0", dir: "deploy/charts/cert-manager",
		values: map[string]any{"crds": map[string]any{"enabled": true}},
	},
	"descheduler":    {module: "sigs.k8s.io/descheduler", version: "v0.36.0", dir: "charts/descheduler"},
	"jobset":         {module: "sigs.k8s.io/jobset", version: "v0.11.0", dir: "charts/jobset"},
	"karpenter":      {module: "sigs.k8s.io/karpenter", version: "v1.14.1", dir: "kwok/charts"},
	"kro":            {module: "github.com/kubernetes-sigs/kro", version: "v0.9.4", dir: "helm"},
	"kueue":          {module: "sigs.k8s.io/kueue", version: "v0.19.1", dir: "charts/kueue"},
	"kwok":           {module: "sigs.k8s.io/kwok", version: "v0.8.0", dir: "charts/kwok"},
	"lws":            {module: "sigs.k8s.io/lws", version: "v0.9.0", dir: "charts/lws"},
	"spark-operator": {module: "github.com/kubeflow/spark-operator/v2", version: "v2.5.1", dir: "charts/spark-operator-chart"},
}

// TestChartsOfModules installs charts of others, unchanged, in a lab, each with Helm's wait: all that they ask
// for becomes ready, and goes when they are uninstalled.
func TestChartsOfModules(t *testing.T) {
	for name, c := range moduleCharts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, err := loader.Load(filepath.Join(moduleDir(t, c.module, c.version), c.dir))
			require.NoError(t, err)
			h := newHelm(t, name+"-system")
			h.install(loaded, c.values)
			h.requireReady()
			h.uninstall()
			h.requireNoPods()
		})
	}
}

// moduleDir returns where a module lies in the module cache. A module that the proxy does not serve skips the test.
func moduleDir(t *testing.T, module, version string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = t.TempDir() // no module's
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s@%s cannot be downloaded: %v\n%s", module, version, err, out)
	}
	var found struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &found))
	return found.Dir
}

// A helm installs one chart, in a lab for that chart alone.
type helm struct {
	*testing.T
	client    kubernetes.Interface
	config    *action.Configuration
	namespace string
}

const helmTimeout = 3 * time.Minute

func newHelm(t *testing.T, namespace string) helm {
	user := serveLab(t, labtest.Options{Start: time.Now()})
	config, err := clientcmd.BuildConfigFromFlags("", user.kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	configuration := action.NewConfiguration()
	require.NoError(t, configuration.Init(helmCluster{config, namespace}, namespace, "secret"))
	return helm{t, kubernetes.NewForConfigOrDie(config), configuration, namespace}
}

func (h helm) install(c *chart.Chart, values map[string]any) {
	h.Helper()
	install := action.NewInstall(h.config)
	install.ReleaseName, install.Namespace, install.CreateNamespace = "it", h.namespace, true
	install.Timeout, install.WaitStrategy, install.WaitForJobs = helmTimeout, kube.StatusWatcherStrategy, true
	_, err := install.RunWithContext(h.Context(), c, values)
	require.NoError(h, err)
}

func (h helm) uninstall() {
	h.Helper()
	uninstall := action.NewUninstall(h.config)
	uninstall.Timeout, uninstall.WaitStrategy = helmTimeout, kube.StatusWatcherStrategy
	_, err := uninstall.Run("it")
	require.NoError(h, err)
}

func (h helm) pods() []corev1.Pod {
	h.Helper()
	pods, err := h.client.CoreV1().Pods(h.namespace).List(h.Context(), metav1.ListOptions{})
	require.NoError(h, err)
	return pods.Items
}

// requireReady checks, without Helm, that all Deployments have their Pods and all Pods run or have succeeded.
func (h helm) requireReady() {
	h.Helper()
	deployments, err := h.client.AppsV1().Deployments(h.namespace).List(h.Context(), metav1.ListOptions{})
	require.NoError(h, err)
	for _, d := range deployments.Items {
		require.Positive(h, *d.Spec.Replicas, d.Name)
		require.Equal(h, *d.Spec.Replicas, d.Status.AvailableReplicas, d.Name)
	}
	crons, err := h.client.BatchV1().CronJobs(h.namespace).List(h.Context(), metav1.ListOptions{})
	require.NoError(h, err)
	require.NotZero(h, len(deployments.Items)+len(crons.Items))
	for _, p := range h.pods() {
		require.Contains(h, []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}, p.Status.Phase, p.Name)
	}
}

func (h helm) requireNoPods() {
	h.Helper()
	require.Eventually(h, func() bool { return len(h.pods()) == 0 }, time.Minute, 100*time.Millisecond)
}

// hookChart has a Deployment, and a Job for each hook of Helm.
func hookChart() *chart.Chart {
	manifest := `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: nginx}]}}}
`
	for _, hook := range []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-delete", "post-delete", "test"} {
		manifest += fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, annotations: {"helm.sh/hook": %[1]s}}
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: ["true"]}]}}}
`, hook)
	}
	return &chart.Chart{
		Metadata:  &chart.Metadata{Name: "hooks", Version: "0.1.0", APIVersion: "v2"},
		Templates: []*common.File{{Name: "templates/objects.yaml", Data: []byte(manifest)}},
	}
}

// TestHooksOfCharts installs, upgrades, tests and uninstalls a chart whose hooks are Jobs: each has completed before
// Helm goes on.
func TestHooksOfCharts(t *testing.T) {
	h := newHelm(t, "hooks")
	h.install(hookChart(), nil)
	deployed, err := h.client.AppsV1().Deployments(h.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.False(t, h.completed("pre-install").After(deployed.CreationTimestamp.Time))
	require.False(t, h.completed("post-install").Before(deployed.CreationTimestamp.Time))

	upgrade := action.NewUpgrade(h.config)
	upgrade.Namespace, upgrade.Timeout, upgrade.WaitStrategy = h.namespace, helmTimeout, kube.StatusWatcherStrategy
	_, err = upgrade.RunWithContext(t.Context(), "it", hookChart(), nil)
	require.NoError(t, err)
	require.False(t, h.completed("post-upgrade").Before(h.completed("pre-upgrade")))

	tested := action.NewReleaseTesting(h.config)
	tested.Namespace, tested.Timeout = h.namespace, helmTimeout
	_, _, err = tested.Run("it")
	require.NoError(t, err)
	h.completed("test")

	h.uninstall()
	h.completed("pre-delete")
	h.completed("post-delete")
}

// completed returns when the Job of a hook completed.
func (h helm) completed(hook string) time.Time {
	h.Helper()
	job, err := h.client.BatchV1().Jobs(h.namespace).Get(h.Context(), hook, metav1.GetOptions{})
	require.NoError(h, err)
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return job.Status.CompletionTime.Time
		}
	}
	require.Fail(h, "not complete", "%s: %v", hook, job.Status)
	return time.Time{}
}
