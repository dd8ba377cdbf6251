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
	if s.failures.are(c.Now) {
		if known, is := s.failures.find(s.classOf(queued.PodInfo), c.Now); is {
			s.next = (s.next + known.advance) % len(cy.Nodes)
			return s.putAside(c, queued, known, d)
		}
	}
	next := s.next
	if len(cy.Nodes) > 0 {
		if fit := cy.findNodes(); len(fit) > 0 {
			best := cy.best(fit, s.recorder(d, fit))
			d.Node = best.Name
			return s.bind(c, cy, queued, best)
		}
	}
	found, u := s.postFilter(cy)
	if found.Node != "" {
		return s.nominate(c, queued, found, u, d)
	}
	if len(cy.Nodes) > 0 {
		u.advance = (s.next - next + len(cy.Nodes)) % len(cy.Nodes)
		s.failures.remember(s.classOf(queued.PodInfo), c.Now, u)
	}
	return s.putAside(c, queued, u, d)
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

// postFilter runs the PostFilter plugins for a Pod that fits nowhere.
func (s *scheduler) postFilter(cy *Cycle) (found PostFilterResult, u unfit) {
	u.keep = true
	var reasons []string
	if len(cy.Nodes) > 0 {
		for _, p := range s.postFilters {
			found = p.PostFilter(cy)
			u.keep = u.keep && found.Keep
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
	u.message, u.rejecters = cy.fitMessage(reasons), cy.rejecters
	return found, u
}

// putAside puts a Pod aside that fits nowhere, and for which no room can be made.
func (s *scheduler) putAside(c control.Call, queued *QueuedPodInfo, u unfit, d *Decision) error {
	d.Message = u.message
	queued.makesRoom = false
	s.queue.reject(queued, u.rejecters, c.Now)
	f := failure{reason: unschedulable, message: u.message}
	if !u.keep {
		f.nominated = new(string)
		s.nominated.add(queued.PodInfo, "")
	}
	return report(c, queued.Pod, f)
}

// nominate puts a Pod aside for which room is made on a Node.
func (s *scheduler) nominate(c control.Call, queued *QueuedPodInfo, found PostFilterResult, u unfit, d *Decision) error {
	d.NominatedNode, d.Message = found.Node, u.message
	victims := slices.DeleteFunc(slices.Clone(found.Victims), func(p *PodInfo) bool { return p.terminating })
	queued.makesRoom = len(victims) > 0
	s.queue.reject(queued, u.rejecters, c.Now)
	s.nominated.add(queued.PodInfo, found.Node)
	for _, victim := range found.Victims {
		d.Victims = append(d.Victims, victim.Name())
	}
	if err := report(c, queued.Pod, failure{reason: unschedulable, message: u.message, nominated: &found.Node}); err != nil {
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
