package scheduling

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
)

// unschedulable is the reason of the condition PodScheduled of Pods that fit nowhere.
const unschedulable = "Unschedulable"

// scheduleOne finds a Node for a Pod.
func (s *scheduler) scheduleOne(c control.Call, queued *QueuedPodInfo) error {
	pod := c.Cache.Get(kinds.Pod, queued.Name())
	if pod == nil {
		s.queue.remove(queued.Name())
		return nil
	}
	queued.setPod(pod)
	cy := &Cycle{Pod: queued.PodInfo, Nodes: s.snapshot(), Cache: c.Cache, Now: c.Now, framework: s.framework}
	d := Decision{Time: c.Now, Pod: queued.Name()}
	if err := s.decide(c, cy, queued, &d); err != nil {
		return err
	}
	if s.trace != nil {
		s.trace(d)
	}
	return nil
}

func (s *scheduler) decide(c control.Call, cy *Cycle, queued *QueuedPodInfo, d *Decision) error {
	if name, known := priorityClassIsKnown(c.Cache, queued.Pod); !known {
		d.Message = "no PriorityClass with name " + name + " was found"
		s.queue.reject(queued, []string{"Priority"}, c.Now)
		return report(c, queued.Pod, failure{reason: unschedulable, message: d.Message})
	}
	if len(cy.Nodes) > 0 {
		if fit := cy.findNodes(); len(fit) > 0 {
			best := cy.best(fit, s.recorder(d, fit))
			d.Node = best.Name
			return s.bind(c, cy, queued, best)
		}
	}
	return s.postFilter(c, cy, queued, d)
}

// recorder records scores, if somebody looks at them.
func (s *scheduler) recorder(d *Decision, nodes []*NodeInfo) func(string, []int64) {
	if s.trace == nil {
		return nil
	}
	d.Scores = map[string]map[string]int64{}
	return func(plugin string, scores []int64) {
		d.Scores[plugin] = make(map[string]int64, len(nodes))
		for i, n := range nodes {
			d.Scores[plugin][n.Name] = scores[i]
		}
	}
}

// postFilter runs the PostFilter plugins for a Pod that fits nowhere, and puts the Pod aside.
func (s *scheduler) postFilter(c control.Call, cy *Cycle, queued *QueuedPodInfo, d *Decision) error {
	found, keep := PostFilterResult{}, true
	var reasons []string
	if len(cy.Nodes) > 0 {
		for _, p := range s.postFilters {
			found = p.PostFilter(cy)
			keep = keep && found.Keep
			if found.Node != "" {
				reasons = nil
				break
			}
			reasons = append(reasons, found.Reasons...)
			if found.failed {
				break
			}
		}
	}
	d.NominatedNode, d.Message = found.Node, cy.fitMessage(reasons)
	victims := slices.DeleteFunc(slices.Clone(found.Victims), func(p *PodInfo) bool { return p.terminating })
	queued.makesRoom = len(victims) > 0
	s.queue.reject(queued, cy.rejecters, c.Now)
	nominated := &found.Node
	if keep && found.Node == "" {
		nominated = nil
	} else {
		s.nominated.add(queued.PodInfo, found.Node)
	}
	pod := queued.Pod
	for _, victim := range found.Victims {
		d.Victims = append(d.Victims, victim.Name())
	}
	if err := report(c, pod, failure{reason: unschedulable, message: d.Message, nominated: nominated}); err != nil {
		return err
	}
	return s.makeRoom(c, queued, found.Node, victims) // others see the nomination before anybody is gone
}

// makeRoom deletes the victims that are not being deleted already. Without victims, Pods of lower
// priority keep their nominations.
func (s *scheduler) makeRoom(c control.Call, queued *QueuedPodInfo, node string, victims []*PodInfo) error {
	if len(victims) == 0 {
		return nil
	}
	pod := queued.Pod
	if err := s.yield(c, queued, node); err != nil {
		return err
	}
	for _, victim := range victims {
		if err := preempt(c, victim.Pod, pod, node); err != nil {
			return err
		}
	}
	return nil
}

// yield takes the nomination from Pods of lower priority: they have to look for another Node.
func (s *scheduler) yield(c control.Call, queued *QueuedPodInfo, node string) error {
	for _, p := range slices.Clone(s.nominated[node]) {
		if p.Priority >= queued.Priority {
			continue
		}
		s.nominated.remove(p.Name())
		if _, err := patchStatus(c, p.Pod, map[string]any{"nominatedNodeName": nil}); control.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
