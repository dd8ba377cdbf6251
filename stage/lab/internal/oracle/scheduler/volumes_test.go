package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const driver = "csi.example.com"

// volumes adds claims c0 to c5 of both namespaces, with or without the objects that they need.
func (g *generator) volumes() {
	wait, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	g.add(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait})
	g.add(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Provisioner: driver, VolumeBindingMode: &now})
	for i := range g.nodes {
		if g.one(2) {
			count := int32(g.IntN(3))
			name := fmt.Sprintf("n%d", i)
			g.add(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
				{Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
			}}})
		}
	}
	for i := range 6 {
		g.claim(fmt.Sprintf("c%d", i))
	}
}

// claim adds a claim, which has its volume, mostly.
func (g *generator) claim(name string) {
	class := draw(g, "now", "now", "now", "local")
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{draw(g, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
	}}
	if class == "now" && !g.one(6) {
		c.Spec.VolumeName, c.Status.Phase = "v-"+name, corev1.ClaimBound
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		if !g.one(8) {
			g.volume(c)
		}
	}
	if !g.one(8) {
		g.add(c)
	}
}

func (g *generator) volume(c *corev1.PersistentVolumeClaim) {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: *c.Spec.StorageClassName, AccessModes: c.Spec.AccessModes, Capacity: corev1.ResourceList{"storage": resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: c.Spec.VolumeName}},
		ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name},
	}}
	if g.one(3) {
		v.Labels = map[string]string{"topology.kubernetes.io/zone": draw(g, "x", "y", "x__y")}
	}
	if g.one(3) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: draw(g, "topology.kubernetes.io/zone", "disk"), Operator: corev1.NodeSelectorOpIn, Values: []string{"x", "ssd"}},
		}}}}}
	}
	g.add(v)
}

// mount gives a Pod volumes.
func (g *generator) mount(p *corev1.Pod) {
	for i := range 1 + g.IntN(2) {
		v := corev1.Volume{Name: fmt.Sprint("v", i)}
		switch g.IntN(5) {
		case 0:
			v.RBD = &corev1.RBDVolumeSource{CephMonitors: []string{draw(g, "m1", "m2"), "m3"}[:1+g.IntN(2)], RBDPool: "rbd", RBDImage: "i", ReadOnly: g.one(2)}
		case 1:
			v.ISCSI = &corev1.ISCSIVolumeSource{IQN: draw(g, "a", "b"), ReadOnly: g.one(2)}
		default:
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("c%d", g.IntN(6))}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
}

// volumeEvent draws a change that may matter to Pods with volumes.
func (g *generator) volumeEvent() step {
	before := len(g.objects)
	g.claim(fmt.Sprintf("c%d", g.IntN(6)))
	if len(g.objects) == before {
		return step{kind: podKind, namespace: "default", name: "new0"}
	}
	last := g.objects[len(g.objects)-1]
	g.objects = g.objects[:before]
	return step{create: last}
}

// TestStorageCapacity: a claim that waits for its Pod finds no room. It is tried again when a
// capacity comes or grows, not when a capacity shrinks or a driver no longer reports it. In both
// clusters nothing provisions volumes, so no capacity is large enough.
func TestStorageCapacity(t *testing.T) {
	g := &generator{Rand: rand.New(rand.NewPCG(0, 0))}
	n := g.node()
	n.Spec = corev1.NodeSpec{}
	p := g.plainPod("p", "1")
	p.Namespace = "default"
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	wait, class, yes := storagev1.VolumeBindingWaitForFirstConsumer, "wait", true
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("9Gi")}},
	}}
	capacity := func(name, class, size string, topology *metav1.LabelSelector) *storagev1.CSIStorageCapacity {
		q := resource.MustParse(size)
		return &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, StorageClassName: class, NodeTopology: topology, Capacity: &q}
	}
	kind := func(k string) schema.GroupVersionKind { return storagev1.SchemeGroupVersion.WithKind(k) }
	change := func(at int, name, patch string) step {
		return step{at: time.Duration(at) * time.Second, kind: kind("CSIStorageCapacity"), namespace: "default", name: name, patch: patch}
	}
	s := scenario{length: 5 * time.Minute, objects: []runtime.Object{
		n, claim, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: driver, VolumeBindingMode: &wait},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}},
		capacity("small", class, "1Gi", &metav1.LabelSelector{}), capacity("nowhere", class, "20Gi", nil),
		capacity("elsewhere", class, "20Gi", &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "none"}}),
	}, steps: []step{
		{at: time.Second, create: p},
		{at: 40 * time.Second, create: capacity("other", "other", "20Gi", &metav1.LabelSelector{})},
		change(80, "small", `{"capacity": "2Gi"}`), change(120, "small", `{"capacity": "1Gi"}`), change(160, "elsewhere", `{"maximumVolumeSize": "1Gi"}`),
		change(200, "small", `{"maximumVolumeSize": "8Gi"}`),
		{at: 240 * time.Second, kind: kind("CSIDriver"), name: driver, patch: `{"spec": {"storageCapacity": false}}`},
	}}
	want, got := playTheirs(t, s), playOurs(t, s)
	text, _ := difference(want, got)
	require.Empty(t, text, sideBySide(want, got))
	require.Len(t, want.attempts, 4, "at 1, 40, 80 and 200 s")
	require.Contains(t, want.attempts[0].outcome, "1 node(s) did not have enough free storage")
}
