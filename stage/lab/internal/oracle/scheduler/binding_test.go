package scheduler

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	bindings = flag.Int("bindings", 50, "how many random clusters whose claims wait for their Pods are compared")

	claimKind  = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	volumeKind = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
)

const (
	selectedNode = "volume.kubernetes.io/selected-node"
	refusals     = "example.com/refusals" // how often no volume can be made for a claim
)

// A binder binds claims in both clusters. As the PV controller, it binds claims for which the
// scheduler reserved a volume. As a provisioner, it binds claims for which the scheduler selected a
// Node. If the provisioner cannot make a volume there, it takes the selection back. It reports the
// remaining capacity.
type binder struct {
	do      func(after time.Duration, s step)
	pending map[string]bool
	refused map[string]int
}

func newBinder(do func(time.Duration, step)) *binder {
	return &binder{do: do, pending: map[string]bool{}, refused: map[string]int{}}
}

func (b *binder) onClaim(c *corev1.PersistentVolumeClaim) {
	node, class := c.Annotations[selectedNode], *c.Spec.StorageClassName
	if node == "" {
		delete(b.pending, c.Name)
	}
	if node == "" || class == "local" || c.Spec.VolumeName != "" || b.pending[c.Name] {
		return
	}
	b.pending[c.Name] = true
	takes := 1300*time.Millisecond + turnOf(c.Name)
	if fmt.Sprint(b.refused[c.Name]) < c.Annotations[refusals] {
		b.refused[c.Name]++
		b.do(takes, patched(claimKind, c.Namespace, c.Name, fmt.Sprintf(`{"metadata": {"annotations": {%q: null}}}`, selectedNode)))
		return
	}
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v-" + c.Name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests, NodeAffinity: onNodes(node),
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: c.Name}},
		ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
	}}
	b.do(takes, step{create: v})
	b.do(takes+50*time.Millisecond, bound(c.Namespace, c.Name, v.Name)) // not while a Pod is tried because of the volume
}

func (b *binder) onVolume(v *corev1.PersistentVolume) {
	if ref := v.Spec.ClaimRef; v.Spec.StorageClassName == "local" && ref != nil && !b.pending[v.Name] {
		b.pending[v.Name] = true
		b.do(300*time.Millisecond+turnOf(v.Name), bound(ref.Namespace, ref.Name, v.Name))
	}
}

// turnOf is from 0 to 0.9 s, by the digit at the end of a name: no two events are at the same time.
func turnOf(name string) time.Duration {
	return time.Duration(name[len(name)-1]-'0') * 100 * time.Millisecond
}

func patched(kind schema.GroupVersionKind, namespace, name, patch string) step {
	return step{kind: kind, namespace: namespace, name: name, patch: patch}
}

// bound is the step in which a claim gets its volume.
func bound(namespace, claim, volume string) step {
	return patched(claimKind, namespace, claim, fmt.Sprintf(
		`{"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": %q}, "status": {"phase": "Bound"}}`, volume))
}

func onNodes(names ...string) *corev1.VolumeNodeAffinity {
	in := corev1.NodeSelectorRequirement{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: names}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in}}}}}
}

// stateOfClaim returns the fields that a scheduler and a binder write into a claim.
func stateOfClaim(c *corev1.PersistentVolumeClaim) string {
	return fmt.Sprintf("selected %q volume %q", c.Annotations[selectedNode], c.Spec.VolumeName)
}

// newBindingScenario draws a cluster whose claims wait for their first Pods. Some claims can have a
// local volume; for others a volume is made where there is room.
func newBindingScenario(seed uint64) scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 37))}
	g.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	for range 1 + g.IntN(4) {
		n := g.node()
		n.Spec = corev1.NodeSpec{}
		g.add(n)
	}
	g.classes()
	for i := range g.IntN(5) {
		g.add(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("local", i)}, Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "local", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity: corev1.ResourceList{"storage": resource.MustParse(fmt.Sprintf("%dGi", 1+i))}, NodeAffinity: onNodes(fmt.Sprint("n", g.IntN(g.nodes))),
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/"}},
		}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}})
	}
	claims := 1 + g.IntN(6)
	for i := range claims {
		g.add(g.waitingClaim(fmt.Sprint("c", i)))
	}
	g.consumers(claims)
	return g.scenario
}

// classes adds the classes of claims, and how much room there is.
func (g *generator) classes() {
	wait, yes := storagev1.VolumeBindingWaitForFirstConsumer, true
	made := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Provisioner: driver, VolumeBindingMode: &wait}
	if g.one(3) {
		made.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.kubernetes.io/zone", Values: []string{"x"}}}}}
	}
	g.add(made)
	g.add(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait})
	if g.one(3) {
		return
	}
	g.add(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}})
	for _, zone := range []string{"x", "y"} {
		size := resource.MustParse(draw(g, "2Gi", "4Gi", "9Gi"))
		topology := &metav1.LabelSelector{MatchLabels: map[string]string{"topology.kubernetes.io/zone": zone}}
		g.add(&storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: zone, Namespace: "default"}, StorageClassName: "made", NodeTopology: topology, Capacity: &size})
	}
}

func (g *generator) waitingClaim(name string) *corev1.PersistentVolumeClaim {
	class := draw(g, "made", "made", "local")
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Annotations: map[string]string{refusals: draw(g, "0", "0", "1", "2")}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(draw(g, "1Gi", "3Gi", "5Gi"))}},
		},
	}
}

// consumers draws Pods that use claims, some of them the same claim, and changes of the Pods and of
// the capacity.
func (g *generator) consumers(claims int) {
	at := 500 * time.Millisecond
	next := func(s step) {
		s.at = at
		g.steps = append(g.steps, s)
		at += time.Duration(1+g.IntN(4)) * 1370 * time.Millisecond // never when it is seen that claims are bound
	}
	for i := range 2 + g.IntN(5) {
		p := g.plainPod(fmt.Sprint("p", i), draw(g, "500m", "1", "3"))
		p.Namespace = "default"
		for v, claim := range g.Perm(claims)[:g.IntN(1+min(claims, 2))] { // no Pod uses one twice: its own updates are in conflict then
			source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("c", claim)}
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", v), VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
		}
		next(step{create: p})
		switch g.IntN(6) {
		case 0:
			next(patched(podKind, "default", fmt.Sprint("p", g.IntN(i+1)), ""))
		case 1:
			next(patched(storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity"), "default", draw(g, "x", "y"), draw(g, `{"capacity": "1Gi"}`, `{"capacity": "6Gi"}`)))
		}
	}
	g.length = at + 700*time.Second
}

// TestSameBindings compares what both schedulers do with claims that wait for their first Pods,
// while a common binder makes volumes.
func TestSameBindings(t *testing.T) {
	reached := map[string]int{}
	for i := range *bindings {
		seed := *first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, newBindingScenario(seed), reached) })
	}
	t.Log(reached)
	for _, what := range []string{"bound", "unschedulable", "provisioned", "refused", "local"} {
		require.Positive(t, reached[what], what)
	}
}
