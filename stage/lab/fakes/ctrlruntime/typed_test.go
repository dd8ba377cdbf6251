package ctrlruntime_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

var (
	named    = metav1.ObjectMeta{Name: "web", Namespace: "default"}
	labelled = map[string]string{"app": "web"}
	selector = &metav1.LabelSelector{MatchLabels: labelled}
	template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelled}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i", ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}}}}},
	}}
	gigabyte = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
)

// typed are objects as a typed client has them: without a kind.
var typed = map[string]runtime.Object{
	"Deployment":    &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), ProgressDeadlineSeconds: new(int32(600)), Selector: selector, Template: template}},
	"no replicas":   &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: selector, Template: template}},
	"ReplicaSet":    &appsv1.ReplicaSet{ObjectMeta: named, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template}},
	"StatefulSet":   &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template}},
	"DaemonSet":     &appsv1.DaemonSet{ObjectMeta: named, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}},
	"Job":           &batchv1.Job{ObjectMeta: named, Spec: batchv1.JobSpec{Completions: new(int32(2)), Template: template}},
	"Indexed Job":   &batchv1.Job{ObjectMeta: named, Spec: batchv1.JobSpec{Completions: new(int32(3)), CompletionMode: new(batchv1.IndexedCompletion), Template: template}},
	"suspended Job": &batchv1.Job{ObjectMeta: named, Spec: batchv1.JobSpec{Suspend: new(true), Template: template}},
	"CronJob":       &batchv1.CronJob{ObjectMeta: named, Spec: batchv1.CronJobSpec{Schedule: "@daily"}},
	"Pod":           &corev1.Pod{ObjectMeta: named, Spec: template.Spec},
	"PersistentVolumeClaim": &corev1.PersistentVolumeClaim{ObjectMeta: named, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: gigabyte},
	}},
	"PersistentVolume":         &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PersistentVolumeSpec{Capacity: gigabyte}},
	"Service":                  &corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.7", ClusterIPs: []string{"10.96.0.7"}}},
	"Node":                     &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
	"Namespace":                &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
	"ReplicationController":    &corev1.ReplicationController{ObjectMeta: named, Spec: corev1.ReplicationControllerSpec{Replicas: new(int32(1)), Template: &template}},
	"Ingress":                  &networkingv1.Ingress{ObjectMeta: named},
	"PodDisruptionBudget":      &policyv1.PodDisruptionBudget{ObjectMeta: named, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromString("50%")), Selector: selector}},
	"HorizontalPodAutoscaler":  &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: new(int32(2)), MaxReplicas: 4}},
	"CustomResourceDefinition": definition,
}

var definition = &apiextensionsv1.CustomResourceDefinition{
	ObjectMeta: metav1.ObjectMeta{Name: "trains.example.com"},
	Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Train", Plural: "trains"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true), Default: &apiextensionsv1.JSON{Raw: []byte(`{"a":1}`)}},
		}}},
	},
}

func TestTypedObjectsAreMadeCurrent(t *testing.T) {
	for name, given := range typed {
		t.Run(name, func(t *testing.T) {
			obj := given.DeepCopyObject()
			require.NoError(t, kstatustest.MakeCurrent(obj))
			require.True(t, obj.GetObjectKind().GroupVersionKind().Empty(), "the kind stays empty")
			kstatustest.RequireCurrent(t, obj)
			requireSameBut(t, given, obj, "Status")
			requireStatusSurvives(t, obj)
		})
	}
}

// TestTypedObjectsAreMadeFailed writes over the zeros of Go types, and over a status that says the
// opposite.
func TestTypedObjectsAreMadeFailed(t *testing.T) {
	for _, name := range []string{
		"Deployment", "Job", "Pod", "CronJob", "PersistentVolumeClaim", "PodDisruptionBudget", "HorizontalPodAutoscaler", "CustomResourceDefinition",
	} {
		t.Run(name, func(t *testing.T) {
			obj := typed[name].DeepCopyObject()
			for _, make := range []func(runtime.Object) error{kstatustest.MakeFailed, kstatustest.MakeCurrent, kstatustest.MakeFailed} {
				require.NoError(t, make(obj))
			}
			u, err := kstatustest.Open(obj)
			require.NoError(t, err)
			require.Equal(t, kstatus.Failed, kstatus.Extended().Compute(u, u.GetCreationTimestamp().Time).Status)
			require.NoError(t, kstatustest.MakeCurrent(obj))
			kstatustest.RequireCurrent(t, obj)
		})
	}
}

// TestTypedObjectsThatNeverFail checks that a state which a kind does not have is refused, with the
// states that it has: a ReplicaSet tries again without end.
func TestTypedObjectsThatNeverFail(t *testing.T) {
	obj := typed["ReplicaSet"].DeepCopyObject()
	require.EqualError(t, kstatustest.MakeFailed(obj), "kstatustest: ReplicaSet default/web: objects of this kind cannot be made Failed, only [Current Pending]")
	require.Equal(t, typed["ReplicaSet"], obj, "nothing was written")
	require.NoError(t, kstatustest.Make(obj, kstatustest.Pending, kstatustest.Options{}))
	u, err := kstatustest.Open(obj)
	require.NoError(t, err)
	require.Equal(t, kstatus.InProgress, kstatus.Extended().Compute(u, u.GetCreationTimestamp().Time).Status)
}

// requireSameBut checks that only some fields have changed, and the generation, which an API server
// counts.
func requireSameBut(t *testing.T, before, after runtime.Object, fields ...string) {
	t.Helper()
	after = after.DeepCopyObject()
	a, b := reflect.ValueOf(after).Elem(), reflect.ValueOf(before).Elem()
	for _, name := range fields {
		a.FieldByName(name).Set(b.FieldByName(name))
	}
	after.(metav1.Object).SetGeneration(0)
	require.Equal(t, before, after)
}

// requireStatusSurvives checks that the fields of the Go type hold the whole written status.
func requireStatusSurvives(t *testing.T, obj runtime.Object) {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	u, err := kstatustest.Open(obj)
	require.NoError(t, err)
	fresh := u.DeepCopy()
	delete(fresh.Object, "status")
	require.NoError(t, kstatustest.MakeCurrent(fresh))
	again := reflect.New(reflect.TypeOf(obj).Elem()).Interface()
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fresh.Object, again, true), "no field is unknown to the Go type")
	rewritten, err := runtime.DefaultUnstructuredConverter.ToUnstructured(again)
	require.NoError(t, err)
	require.Equal(t, fields["status"], rewritten["status"])
}
