package greeter

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	stagereconcile "github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A Reconciler keeps a Deployment for each ConfigMap. Replace it by your own.
type Reconciler struct{ client.Client }

// Reconcile brings the Deployment in line with the ConfigMap.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var settings corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &settings); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	replicas, err := strconv.ParseInt(settings.Data["replicas"], 10, 32)
	if err != nil {
		return reconcile.Result{}, nil // a ConfigMap of another program
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}}
	_, err = controllerutil.CreateOrUpdate(ctx, r, d, func() error {
		labels := map[string]string{"app": settings.Name}
		d.Spec.Replicas = new(int32(replicas))
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels = labels
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx"}}
		return controllerutil.SetControllerReference(&settings, d, r.Scheme())
	})
	return reconcile.Result{}, err
}

var configMaps, deployments = corev1.SchemeGroupVersion.WithKind("ConfigMap"), appsv1.SchemeGroupVersion.WithKind("Deployment")

// operator is the Reconciler as a controller in the time of the lab. It also watches what it owns.
func operator(cluster *memory.Cluster) []stagereconcile.Controller {
	c := ctrlruntime.New(cluster, ctrlruntime.Options{Scheme: scheme.Scheme})
	return []stagereconcile.Controller{ctrlruntime.Controller(&Reconciler{c}, configMaps, deployments)}
}

const web = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {replicas: "2"}}`

func TestTheDeploymentFollows(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Operator: operator}) // nodes, a scheduler, controllers and kubelets, in virtual time
	lab.Apply(web)
	lab.Settle()                                             // everything that will happen has happened
	lab.WaitCurrent(lab.Get("apps/v1", "Deployment", "web")) // or the test fails, says what is missing, and names the Pod to blame
	require.Len(t, lab.List("v1", "Pod", "app=web"), 2)

	lab.Delete(lab.Get("apps/v1", "Deployment", "web")) // a user deletes it by mistake
	lab.Settle()
	lab.WaitCurrent(lab.Get("apps/v1", "Deployment", "web"))

	lab.Drive(lab.List("v1", "Pod", "app=web")[0], kstatustest.CrashLoopBackOff)
	lab.Advance(10 * time.Minute) // what does your operator do now? This one does nothing
	require.Len(t, lab.List("v1", "Pod", "app=web"), 2)
}
