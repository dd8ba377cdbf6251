package website

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Deployments is the kind that a Website owns.
var Deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")

// A Reconciler runs Websites as Deployments.
type Reconciler struct{ client.Client }

// Reconcile runs the requested version, or the last good version if the requested one crashes, and
// writes the status.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	site := &Website{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := site.DeepCopyObject().(*Website)
	crash, err := r.crash(ctx, site)
	if err != nil {
		return reconcile.Result{}, err
	}
	if crash != "" {
		site.Status.Rejected = site.Spec.Version
	}
	up, err := r.run(ctx, site, version(site))
	if err != nil {
		return reconcile.Result{}, err
	}
	report(site, up, crash)
	return reconcile.Result{}, r.Status().Patch(ctx, site, client.MergeFrom(before))
}

// version is the version to run.
func version(site *Website) string {
	if site.Status.Rejected == site.Spec.Version && site.Status.Good != "" {
		return site.Status.Good
	}
	return site.Spec.Version
}

// crash returns the message of a crashing Pod of the requested version, or "".
func (r *Reconciler) crash(ctx context.Context, site *Website) (string, error) {
	var pods corev1.PodList
	labels := client.MatchingLabels{"website": site.Name, "version": site.Spec.Version}
	if err := r.List(ctx, &pods, client.InNamespace(site.Namespace), labels); err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff" {
				return c.State.Waiting.Message, nil
			}
		}
	}
	return "", nil
}

// run makes the Deployment run a version, and reports whether it is Current.
func (r *Reconciler) run(ctx context.Context, site *Website, version string) (up bool, err error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err = controllerutil.CreateOrUpdate(ctx, r, d, func() error {
		labels := map[string]string{"website": site.Name, "version": version}
		d.Spec.Replicas = &site.Spec.Replicas
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"website": site.Name}}
		d.Spec.Template.Labels = labels
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "example.com/web:" + version}}
		return controllerutil.SetControllerReference(site, d, r.Scheme())
	})
	if err != nil {
		return false, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(Deployments)
	if err := r.Get(ctx, client.ObjectKeyFromObject(d), u); err != nil {
		return false, err
	}
	return kstatus.Compute(u).Status == kstatus.Current, nil
}

// report sets the status.
func report(site *Website, up bool, crash string) {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Progressing", ObservedGeneration: site.Generation}
	running := version(site)
	switch {
	case running != site.Spec.Version:
		c.Reason, c.Message = "RolledBack", fmt.Sprintf("%s does not come up, %s runs", site.Spec.Version, running)
	case crash != "":
		c.Reason, c.Message = "CrashLoopBackOff", crash
	case up:
		c.Status, c.Reason, site.Status.Good = metav1.ConditionTrue, "Up", running
	}
	site.Status.ObservedGeneration = site.Generation
	meta.SetStatusCondition(&site.Status.Conditions, c)
}
