package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const driver = "csi.example.com"

// volumes adds claims c0 to c5 of both namespaces with what they need, or without.
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
