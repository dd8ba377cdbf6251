package scheduling

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/storage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// nodeVolumeLimits keeps Pods from Nodes to which no more volumes of a CSI driver can be attached, as
// their CSINodes say.
type nodeVolumeLimits struct{}

func (nodeVolumeLimits) Name() string { return "NodeVolumeLimits" }

func (nodeVolumeLimits) PreFilter(c *Cycle) Status { return Status{Skip: len(c.Pod.claims) == 0} }

// A csiVolume is a volume of a CSI driver.
type csiVolume struct{ driver, handle string }

func (nodeVolumeLimits) Filter(c *Cycle, n *NodeInfo) Status {
	limits := volumeLimits(c.Cache.Get(kinds.CSINode, types.NamespacedName{Name: n.Name}))
	if len(limits) == 0 {
		return Status{}
	}
	attached := map[csiVolume]bool{}
	for _, p := range n.Pods {
		addVolumes(attached, c.Cache, p)
	}
	addAttachments(attached, c.Cache, n.Name)
	wanted := map[csiVolume]bool{}
	addVolumes(wanted, c.Cache, c.Pod)
	counts, more := map[string]int64{}, map[string]bool{}
	for v := range wanted {
		if !attached[v] {
			attached[v], more[v.driver] = true, true
		}
	}
	for v := range attached {
		counts[v.driver]++
	}
	for driver := range more {
		if limit, ok := limits[driver]; ok && counts[driver] > limit {
			return Status{Reasons: []string{"node(s) exceed max volume count"}}
		}
	}
	return Status{}
}

// volumeLimits returns how many volumes of each driver can be attached to the Node of a CSINode.
// The CSINode can be nil.
func volumeLimits(csiNode *unstructured.Unstructured) map[string]int64 {
	limits := map[string]int64{}
	if csiNode == nil {
		return limits
	}
	for _, driver := range fields.Maps(csiNode.Object, "spec", "drivers") {
		if allocatable := fields.Map(driver, "allocatable"); fields.Value(allocatable, "count") != nil {
			limits[fields.String(driver, "name")] = fields.Int64(allocatable, 0, "count")
		}
	}
	return limits
}

// addVolumes adds the CSI volumes of a Pod, and the volumes that will be provisioned for it.
func addVolumes(volumes map[csiVolume]bool, cache *reconcile.Cache, p *PodInfo) {
	for _, claim := range p.claims {
		obj := claimOf(cache, p, claim)
		if obj == nil {
			continue
		}
		if addVolume(volumes, cache, fields.String(obj.Object, "spec", "volumeName")) {
			continue
		}
		if class := storage.ClassOf(cache, obj); class != nil {
			volumes[csiVolume{fields.String(class.Object, "provisioner"), "claim " + p.namespace + "/" + claim.name}] = true
		}
	}
}

// addVolume adds a volume. It is false if that does not exist.
func addVolume(volumes map[csiVolume]bool, cache *reconcile.Cache, name string) bool {
	volume := cache.Get(kinds.PersistentVolume, types.NamespacedName{Name: name})
	if volume == nil {
		return false
	}
	if csi := fields.Map(volume.Object, "spec", "csi"); csi != nil {
		volumes[csiVolume{fields.String(csi, "driver"), fields.String(csi, "volumeHandle")}] = true
	}
	return true
}

// addAttachments adds the volumes that are attached to a Node, perhaps for Pods that are gone.
func addAttachments(volumes map[csiVolume]bool, cache *reconcile.Cache, node string) {
	for _, attachment := range cache.List(kinds.VolumeAttachment, "") {
		if fields.String(attachment.Object, "spec", "nodeName") == node {
			addVolume(volumes, cache, fields.String(attachment.Object, "spec", "source", "persistentVolumeName"))
		}
	}
}

func (nodeVolumeLimits) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	switch e.Kind {
	case kinds.CSINode.Kind:
		return e.New != nil && (e.Old == nil || shrinks(volumeLimits(e.New), volumeLimits(e.Old), volumeLimits(e.New)))
	case kinds.VolumeAttachment.Kind:
		return e.New == nil
	}
	return e.podLeft() && len(e.OldPod.claims) > 0 || e.claimCame(p)
}
