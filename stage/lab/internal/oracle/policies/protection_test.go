package policies

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/volumes"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// protection are claims that Pods use, and volumes that are bound.
func protection() *family {
	return &family{
		name: "protection", kinds: []schema.GroupVersionKind{podKind, claimKind, volumeKind}, length: time.Minute,
		theirs: func(w world, cs kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
			core := f.Core().V1()
			claims, err := pvcprotection.NewPVCProtectionController(klog.Background(), core.PersistentVolumeClaims(), core.Pods(), cs)
			if err != nil {
				return nil, err
			}
			volumes := pvprotection.NewPVProtectionController(klog.Background(), core.PersistentVolumes(), cs)
			return []func(){func() { claims.Run(w.ctx, 1) }, func() { volumes.Run(w.ctx, 1) }}, nil
		},
		ours: func() []reconcile.Controller {
			return []reconcile.Controller{volumes.ClaimProtection(), volumes.VolumeProtection()}
		},
		random: randomProtection,
	}
}

func randomProtection(r *rand.Rand) step {
	pod, claim, volume := fmt.Sprint("p", r.IntN(3)), fmt.Sprint("c", r.IntN(3)), fmt.Sprint("v", r.IntN(2))
	switch r.IntN(16) {
	case 0, 1, 2:
		return step{do: "create", kind: podKind, name: pod, body: fmt.Sprintf("spec: {%scontainers: [{name: c, image: i}], volumes: [%s]}",
			pick(r, "", "nodeName: n1, "), randomVolume(r, claim))}
	case 3, 4, 5:
		name := pick(r, claim, claim, pod+"-e")
		return step{do: "create", kind: claimKind, name: name,
			body: fmt.Sprintf("metadata: {finalizers: [%s]}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", randomFinalizers(r))}
	case 6:
		return step{do: "create", kind: volumeKind, name: volume,
			body: fmt.Sprintf("metadata: {finalizers: [%s]}\nspec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}", randomFinalizers(r))}
	case 7, 8:
		return step{do: "status", kind: volumeKind, name: volume, body: fmt.Sprintf("status: {phase: %s}", pick(r, "Bound", "Available", "Released"))}
	case 9:
		return step{do: "status", kind: podKind, name: pod, body: fmt.Sprintf("status: {phase: %s}", pick(r, "Running", "Succeeded", "Failed"))}
	case 10:
		return step{do: "delete", kind: podKind, name: pod}
	case 11:
		return step{do: "remove", kind: podKind, name: pod}
	case 12, 13:
		return step{do: "delete", kind: claimKind, name: pick(r, claim, pod+"-e")}
	case 14:
		return step{do: "patch", kind: pick(r, claimKind, volumeKind), name: pick(r, claim, volume),
			body: fmt.Sprintf("metadata: {finalizers: [%s]}", randomFinalizers(r))}
	}
	return step{do: "delete", kind: volumeKind, name: volume}
}

func randomVolume(r *rand.Rand, claim string) string {
	named := fmt.Sprintf("{name: a, persistentVolumeClaim: {claimName: %s}}", claim)
	return pick(r, "", "{name: e, emptyDir: {}}", named, named,
		"{name: e, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}")
}

func randomFinalizers(r *rand.Rand) string {
	return pick(r, "", "", "x.io/y", "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection")
}
