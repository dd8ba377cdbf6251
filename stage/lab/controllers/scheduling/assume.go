package scheduling

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/storage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// An assumedPod has a Node, on which it counts, and is bound when its claims are.
type assumedPod struct {
	*QueuedPodInfo
	node   *NodeInfo
	placed []placedClaim
	since  time.Time
	look   time.Time // when it is seen that the claims are bound or cannot be, zero if neither is so
}

// kube-scheduler looks each second whether claims are bound, and gives up after ten minutes.
const (
	bindInterval = time.Second
	bindTimeout  = 10 * time.Minute
)

// due is when the binding continues or fails without a change.
func (a *assumedPod) due() time.Time {
	if a.look.IsZero() {
		return a.since.Add(bindTimeout)
	}
	return a.look
}

// lookAt takes in whether the claims are bound or cannot be, which is seen at the end of a second.
func (a *assumedPod) lookAt(c control.Call) {
	if a.whyNotBound(c.Cache) == "" && a.waits(c.Cache) {
		a.look = time.Time{}
	} else if a.look.IsZero() {
		looks := (c.Now.Sub(a.since) + bindInterval - 1) / bindInterval
		a.look = a.since.Add(max(looks, 1) * bindInterval)
	}
}

// waits reports whether a claim is not bound.
func (a *assumedPod) waits(cache *reconcile.Cache) bool {
	return slices.ContainsFunc(a.claims, func(claim claimName) bool {
		obj := claimOf(cache, a.PodInfo, claim)
		return obj == nil || !isBound(obj)
	})
}

// whyNotBound says why a claim cannot be bound, "" if it can: no volume could be made on the Node, so
// that the provisioner took the selection of the Node back.
func (a *assumedPod) whyNotBound(cache *reconcile.Cache) string {
	for _, p := range a.placed {
		claim := cache.Get(kinds.PersistentVolumeClaim, control.NameOf(p.claim))
		switch {
		case claim == nil || p.volume != nil || fields.Annotation(claim, storage.SelectedNode) == a.node.Name:
		case len(claim.GetAnnotations()) == 0:
			return fmt.Sprintf("selectedNode annotation reset for PVC %q", claim.GetName())
		default:
			return fmt.Sprintf("provisioning failed for PVC %q", claim.GetName())
		}
	}
	return ""
}

// bind binds a Pod. If the Pod has claims that waited for a Node, it first waits until they are
// bound.
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
	s.failures.changed()
	n.AddPod(queued.PodInfo)
	s.binding.add(&assumedPod{QueuedPodInfo: queued, node: n, placed: placed, since: c.Now})
	_, err := patchStatus(c, queued.Pod, map[string]any{"nominatedNodeName": n.Name})
	return control.IgnoreNotFound(err)
}

// selectVolume tells a claim on which Node its first Pod will run, so that a volume is provisioned
// there, or reserves the existing volume.
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
		return err
	}
	if fields.Annotation(p.claim, storage.SelectedNode) == node {
		return nil
	}
	annotations := map[string]any{storage.SelectedNode: node}
	_, err := c.MergePatch(p.claim, map[string]any{"metadata": map[string]any{"annotations": annotations}})
	return err
}

// forget takes a Pod off the Node on which it was assumed.
func (s *scheduler) forget(name types.NamespacedName) {
	if assumed := s.binding.pods[name]; assumed != nil {
		s.failures.changed()
		assumed.node.RemovePod(assumed.PodInfo)
		s.binding.remove(assumed)
	}
}

// finishBindings binds the Pods whose claims are bound now. It looks at those to which something has
// happened, and at those whose time has come.
func (s *scheduler) finishBindings(c control.Call) error {
	all := s.binding.toLookAt(c.Now)
	for i, assumed := range all {
		if s.binding.pods[assumed.Name()] != assumed {
			continue // something has happened while another one was bound
		}
		pod := c.Cache.Get(kinds.Pod, assumed.Name())
		if pod == nil || !s.isResponsibleFor(pod) {
			s.forget(assumed.Name())
			continue
		}
		s.binding.look(c, assumed)
		if err := s.finishBinding(c, assumed, pod); err != nil {
			for _, left := range all[i:] {
				s.binding.changed(left.Name())
			}
			return err
		}
	}
	return nil
}

func (s *scheduler) finishBinding(c control.Call, assumed *assumedPod, pod *unstructured.Unstructured) error {
	switch {
	case !assumed.look.IsZero() && !assumed.look.After(c.Now):
		if why := assumed.whyNotBound(c.Cache); why != "" {
			return s.failBinding(c, assumed, pod, why)
		}
		return Bind(c.Context, c.Request, pod, assumed.node.Name)
	case assumed.look.IsZero() && !c.Now.Before(assumed.since.Add(bindTimeout)):
		return s.failBinding(c, assumed, pod, "context deadline exceeded")
	}
	return nil
}

// failBinding takes a Pod off its Node, which can affect others, and schedules another try.
func (s *scheduler) failBinding(c control.Call, assumed *assumedPod, pod *unstructured.Unstructured, why string) error {
	s.forget(assumed.Name())
	s.queue.changed(ClusterEvent{Kind: kinds.Pod.Kind, Old: pod, OldPod: assumed.PodInfo}, c.Now)
	s.queue.pods[assumed.Name()] = assumed.QueuedPodInfo
	s.queue.reject(assumed.QueuedPodInfo, nil, c.Now)
	assumed.again = !assumed.look.IsZero() // not after ten minutes in which nothing happened
	message := `running PreBind plugin "VolumeBinding": binding volumes: ` + why
	return report(c, pod, failure{reason: "SchedulerError", message: message, nominated: new(string)})
}

// nextBinding returns when a binding will continue or fail without a change; zero means never.
func (s *scheduler) nextBinding(c control.Call) time.Time {
	for name := range s.binding.touched {
		s.binding.look(c, s.binding.pods[name])
	}
	return s.binding.next()
}
