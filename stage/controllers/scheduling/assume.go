package scheduling

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/storageclass"
)

// An assumedPod has a Node, on which it counts, and is bound when its claims are.
type assumedPod struct {
	info *PodInfo
	node *NodeInfo
	seq  uint64
}

// bind binds a Pod or, if it has claims that waited for a Node, has those bound first.
func (s *scheduler) bind(c control.Call, cy *Cycle, queued *QueuedPodInfo, n *NodeInfo) error {
	s.nominated.remove(queued.Name())
	volumes, _ := cy.Read(volumeBinding{}).(volumesOfPod)
	placed, _ := placeClaims(c.Cache, volumes.unbound, n)
	if len(placed) == 0 {
		return Bind(c.Context, c.Request, queued.Pod, n.Name)
	}
	for _, p := range placed {
		if err := selectVolume(c, p, n.Name); err != nil {
			return err
		}
	}
	s.queue.remove(queued.Name())
	n.AddPod(queued.PodInfo)
	s.binding[queued.Name()] = &assumedPod{queued.PodInfo, n, queued.seq}
	return nil
}

// selectVolume tells a claim on which Node its first Pod will run, on which a volume is to be
// provisioned, or reserves the volume that there is.
func selectVolume(c control.Call, p placedClaim, node string) error {
	if p.volume != nil {
		if fields.Map(p.volume.Object, "spec", "claimRef") != nil {
			return nil
		}
		ref := map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": p.claim.GetNamespace(),
			"name": p.claim.GetName(), "uid": string(p.claim.GetUID()),
		}
		_, err := c.MergePatch(p.volume, map[string]any{"spec": map[string]any{"claimRef": ref}})
		if err != nil {
			return err
		}
	} else if fields.Annotation(p.claim, storageclass.SelectedNode) == node {
		return nil
	}
	annotations := map[string]any{storageclass.SelectedNode: node}
	_, err := c.MergePatch(p.claim, map[string]any{"metadata": map[string]any{"annotations": annotations}})
	return err
}

// forget takes a Pod off the Node on which it was assumed.
func (s *scheduler) forget(name types.NamespacedName) {
	if assumed := s.binding[name]; assumed != nil {
		assumed.node.RemovePod(assumed.info)
		delete(s.binding, name)
	}
}

// finishBindings binds the Pods whose claims are bound now.
func (s *scheduler) finishBindings(c control.Call) error {
	names := slices.SortedFunc(maps.Keys(s.binding), func(a, b types.NamespacedName) int {
		return cmp.Compare(s.binding[a].seq, s.binding[b].seq)
	})
	for _, name := range names {
		assumed, pod := s.binding[name], c.Cache.Get(kinds.Pod, name)
		if pod == nil || !s.isResponsibleFor(pod) {
			s.forget(name)
			continue
		}
		waits := slices.ContainsFunc(assumed.info.claims, func(claim claimName) bool {
			obj := claimOf(c.Cache, assumed.info, claim)
			return obj == nil || !isBound(obj)
		})
		if !waits {
			if err := Bind(c.Context, c.Request, pod, assumed.node.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
