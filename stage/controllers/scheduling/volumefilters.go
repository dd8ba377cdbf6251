package scheduling

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
)

// volumeRestrictions keeps Pods from a claim with the access mode ReadWriteOncePod that another Pod
// uses.
type volumeRestrictions struct{}

func (volumeRestrictions) Name() string { return "VolumeRestrictions" }

func (p volumeRestrictions) PreFilter(c *Cycle) Status {
	var exclusive []claimName
	for _, claim := range c.Pod.claims {
		if obj := claimOf(c.Cache, c.Pod, claim); obj != nil {
			modes, _ := object.Strings(obj.Object, "spec", "accessModes")
			if slices.Contains(modes, "ReadWriteOncePod") {
				exclusive = append(exclusive, claim)
			}
		}
	}
	c.Write(p, exclusive)
	return Status{Skip: len(exclusive) == 0}
}

func (p volumeRestrictions) Filter(c *Cycle, _ *NodeInfo) Status {
	exclusive := c.Read(p).([]claimName)
	for _, n := range c.Nodes {
		for _, other := range n.Pods {
			if other.namespace == c.Pod.namespace && slices.ContainsFunc(other.claims, func(claim claimName) bool { return slices.Contains(exclusive, claim) }) {
				return Status{Reasons: []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}}
			}
		}
	}
	return Status{}
}

// volumeZone keeps Pods to Nodes in the zones that the labels of their volumes name.
type volumeZone struct{}

func (volumeZone) Name() string { return "VolumeZone" }

func (p volumeZone) PreFilter(c *Cycle) Status {
	var zones []requirement
	for _, claim := range c.Pod.claims {
		obj := claimOf(c.Cache, c.Pod, claim)
		if obj == nil {
			continue
		}
		volume := c.Cache.Get(kinds.PersistentVolume, types.NamespacedName{Name: fields.String(obj.Object, "spec", "volumeName")})
		if volume == nil {
			continue
		}
		zones = append(zones, zonesOf(volume)...)
	}
	c.Write(p, zones)
	return Status{Skip: len(zones) == 0}
}

// zonesOf requires the zone and the region that a volume is in.
func zonesOf(volume *unstructured.Unstructured) (zones []requirement) {
	for _, key := range []string{labelZone, "topology.kubernetes.io/region"} {
		if value, ok := labelsOf(volume)[key].(string); ok {
			zones = append(zones, requirement{key, "In", strings.Split(value, "__")})
		}
	}
	return zones
}

func (p volumeZone) Filter(c *Cycle, n *NodeInfo) Status {
	if matchesAll(c.Read(p).([]requirement), n.labels) {
		return Status{}
	}
	return unresolvable("node(s) had no available volume zone")
}
