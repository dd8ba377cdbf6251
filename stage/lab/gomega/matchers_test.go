package gomega_test

import (
	"testing"
	"time"

	g "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/gomega"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

func TestMatchers(t *testing.T) {
	expect := g.NewWithT(t).Expect
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(web)
	before := lab.Get("apps/v1", "Deployment", "web")
	expect(before).NotTo(gomega.BeCurrent())
	expect(before).To(gomega.HaveStatus(kstatus.Current, kstatus.InProgress))
	expect(before).NotTo(gomega.BeFailed())
	lab.WaitCurrent()
	expect(lab.Get("apps/v1", "Deployment", "web")).To(gomega.BeCurrent())
	lab.Drive(before, kstatustest.Failed)
	expect(lab.Get("apps/v1", "Deployment", "web")).To(g.And(gomega.BeFailed(), g.Not(gomega.BeCurrent())))
}

func TestMatchersWithEventually(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(web)
	polls := 0
	g.NewWithT(t).Eventually(func() *unstructured.Unstructured {
		polls++
		lab.Advance(time.Second)
		return lab.Get("apps/v1", "Deployment", "web")
	}).WithPolling(time.Nanosecond).Should(gomega.BeCurrent())
	g.NewWithT(t).Expect(polls).To(g.BeNumerically("<", 60))
}

func TestFailuresSayWhatIsMissing(t *testing.T) {
	half := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "generation": int64(1)},
		"spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"observedGeneration": int64(1), "readyReplicas": int64(1)},
	}}
	var said string
	test := g.NewWithT(t)
	failing := g.NewGomega(func(message string, _ ...int) { said = message })
	failing.Expect(half).To(gomega.BeCurrent())
	test.Expect(said).To(g.And(
		g.HavePrefix("Expected an object to be Current\nDeployment web is not Current\n"),
		g.ContainSubstring("status.updatedReplicas: missing: 1"),
	))
	failing.Expect(half).To(gomega.BeFailed())
	test.Expect(said).To(g.HavePrefix("Expected an object to be Failed\nDeployment web is InProgress"))
	test.Expect(kstatustest.MakeCurrent(half)).To(g.Succeed())
	failing.Expect(half).NotTo(gomega.BeCurrent())
	test.Expect(said).To(g.HavePrefix("Expected an object not to be Current\nDeployment web is Current"))
	failing.Expect("web").To(gomega.BeCurrent())
	test.Expect(said).To(g.ContainSubstring("expected an object of Kubernetes (runtime.Object), not a string"))
	said = ""
	failing.Expect(&unstructured.Unstructured{}).NotTo(gomega.BeCurrent())
	test.Expect(said).To(g.ContainSubstring("without a kind"))
}
