package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// volumeRestrictions keeps a Pod from a claim with the access mode ReadWriteOncePod that another
// Pod uses, and from Nodes where another Pod uses the same disk.
type volumeRestrictions struct{}

func (volumeRestrictions) Name() string { return "VolumeRestrictions" }

// exclusiveClaims are the claims of a Pod that no other Pod may use, with the number of Pods that
// use them.
type exclusiveClaims struct {
	names []string
	used  int64
}

func (p volumeRestrictions) PreFilter(c *Cycle) Status {
	s := &exclusiveClaims{}
	for _, claim := range c.Pod.claims {
		if claim.ephemeral {
			continue
		}
		obj := claimOf(c.Cache, c.Pod, claim)
		if obj == nil {
			return unresolvable(whyUnusable(nil, claim))
		}
		if modes, _ := object.Strings(obj.Object, "spec", "accessModes"); slices.Contains(modes, "ReadWriteOncePod") && !slices.Contains(s.names, claim.name) {
			s.names = append(s.names, claim.name)
		}
	}
	for _, name := range s.names {
		if slices.ContainsFunc(c.Nodes, func(n *NodeInfo) bool { return usesClaim(n, c.Pod.namespace, name) }) {
			s.used++
		}
	}
	c.Write(p, s)
	return Status{Skip: s.used == 0 && len(c.Pod.disks) == 0}
}

func usesClaim(n *NodeInfo, namespace, name string) bool {
	return slices.ContainsFunc(n.Pods, func(p *PodInfo) bool {
		return p.namespace == namespace && slices.Contains(p.claims, claimName{name: name})
	})
}

// count counts the claims of a Pod that comes or goes while victims are looked for. Like
// kube-scheduler 1.36, it takes claims of the same name in other namespaces for these.
func (s *exclusiveClaims) count(other *PodInfo, times int64) {
	for _, claim := range other.claims {
		if !claim.ephemeral && slices.Contains(s.names, claim.name) {
			s.used += times
		}
	}
}

func (p volumeRestrictions) AddPod(c *Cycle, other *PodInfo, _ *NodeInfo) { p.update(c, other, 1) }

func (p volumeRestrictions) RemovePod(c *Cycle, other *PodInfo, _ *NodeInfo) { p.update(c, other, -1) }

func (p volumeRestrictions) update(c *Cycle, other *PodInfo, times int64) {
	c.Read(p).(*exclusiveClaims).count(other, times)
}

func (p volumeRestrictions) Filter(c *Cycle, n *NodeInfo) Status {
	if slices.ContainsFunc(n.Pods, c.Pod.sharesDisk) {
		return Status{Reasons: []string{"node(s) had no available disk"}}
	}
	if c.Read(p).(*exclusiveClaims).used > 0 {
		return Status{Reasons: []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}}
	}
	return Status{}
}

// A disk is a volume that only one Pod of a Node may write.
type disk struct {
	kind, name string
	readOnly   bool
	monitors   []string // of Ceph: it is the same if they have one in common
}

// disksOf returns the disks that a Pod names itself, without a claim.
func disksOf(spec map[string]any) (disks []disk) {
	for _, volume := range fields.Maps(spec, "volumes") {
		if v := fields.Map(volume, "gcePersistentDisk"); v != nil {
			disks = append(disks, disk{kind: "gce", name: fields.String(v, "pdName"), readOnly: fields.Bool(v, "readOnly")})
		}
		if v := fields.Map(volume, "awsElasticBlockStore"); v != nil {
			disks = append(disks, disk{kind: "aws", name: fields.String(v, "volumeID")})
		}
		if v := fields.Map(volume, "iscsi"); v != nil {
			disks = append(disks, disk{kind: "iscsi", name: fields.String(v, "iqn"), readOnly: fields.Bool(v, "readOnly")})
		}
		if v := fields.Map(volume, "rbd"); v != nil {
			monitors, _ := object.Strings(v, "monitors")
			name := cmp.Or(fields.String(v, "pool"), "rbd") + "/" + fields.String(v, "image")
			disks = append(disks, disk{kind: "rbd", name: name, readOnly: fields.Bool(v, "readOnly"), monitors: monitors})
		}
	}
	return disks
}

func (p *PodInfo) sharesDisk(other *PodInfo) bool {
	return slices.ContainsFunc(p.disks, func(a disk) bool { return slices.ContainsFunc(other.disks, a.conflicts) })
}

func (a disk) conflicts(b disk) bool {
	return a.kind == b.kind && a.name == b.name && !(a.readOnly && b.readOnly) &&
		(a.kind != "rbd" || slices.ContainsFunc(a.monitors, func(m string) bool { return slices.Contains(b.monitors, m) }))
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
		name := fields.String(obj.Object, "spec", "volumeName")
		if name == "" {
			continue
		}
		volume := c.Cache.Get(kinds.PersistentVolume, types.NamespacedName{Name: name})
		if volume == nil {
			return unresolvable(fmt.Sprintf("persistentvolume %q not found", name))
		}
		zones = append(zones, zonesOf(volume)...)
	}
	c.Write(p, zones)
	return Status{Skip: len(zones) == 0}
}

// zoneLabels say in which zone and region a Node or a volume is.
var zoneLabels = []string{labelZone, "topology.kubernetes.io/region"}

// zonesOf requires the zone and the region that a volume is in.
func zonesOf(volume *unstructured.Unstructured) (zones []requirement) {
	for _, key := range zoneLabels {
		if value, ok := labelsOf(volume)[key].(string); ok {
			zones = append(zones, requirement{key, "In", strings.Split(value, "__")})
		}
	}
	return zones
}

func (p volumeZone) Filter(c *Cycle, n *NodeInfo) Status {
	inZone := slices.ContainsFunc(zoneLabels, func(key string) bool { return n.labels[key] != nil })
	if !inZone || matchesAll(c.Read(p).([]requirement), n.labels) {
		return Status{}
	}
	return unresolvable("node(s) had no available volume zone")
}
