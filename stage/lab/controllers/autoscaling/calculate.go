package autoscaling

import (
	"errors"
	"fmt"
	"math"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

// A tolerance is by which shares use may differ from its target without effect.
type tolerance struct{ down, up float64 }

func (t tolerance) has(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }

// A usage is how much Pods use together, compared with a target. Numbers are in thousandths.
type usage struct {
	target    int64            // per cent of the requests, or of each Pod
	requests  map[string]int64 // nil if the target is not a share of them
	tolerance tolerance
}

// ratio returns the use of Pods divided by its target, the use in per cent of the requests, and the
// use of a Pod in the mean.
func (u usage) ratio(of samples) (ratio float64, percent, mean int64, err error) {
	var sum, requested, n int64
	for name, s := range of {
		request, known := u.requests[name]
		if u.requests != nil && !known {
			continue
		}
		sum, requested, n = sum+s.value, requested+request, n+1
	}
	if u.requests == nil {
		mean = sum / n
		return float64(mean) / float64(u.target), 0, mean, nil
	}
	if requested == 0 {
		return 0, 0, 0, errors.New("no metrics returned matched known pods")
	}
	percent = sum * 100 / requested
	return float64(percent) / float64(u.target), percent, sum / n, nil
}

// missing is the assumed use of a Pod without a metric when the others use less than the target:
// all of its request, or the target.
func (u usage) missing(name string) int64 {
	if u.requests == nil {
		return u.target
	}
	return u.requests[name] * max(100, u.target) / 100
}

// groups are the Pods by their state.
type groups struct {
	ready   int64
	unready []string
	missing []string // Pods without a metric
}

// group takes the metrics away of Pods that are unready, or ignored because they are ending.
func (a *autoscaler) group(of samples, name string) (g groups) {
	for _, p := range a.pods {
		s, measured := of[p.GetName()]
		switch {
		case p.IsTerminating() || p.Phase() == "Failed":
			delete(of, p.GetName())
		case p.Phase() == "Pending":
			g.unready = append(g.unready, p.GetName())
		case !measured:
			g.missing = append(g.missing, p.GetName())
		case name == "cpu" && a.isStarting(p, s):
			g.unready = append(g.unready, p.GetName())
		default:
			g.ready++
		}
	}
	for _, name := range g.unready {
		delete(of, name)
	}
	return g
}

// isStarting reports whether the CPU use of a Pod is not yet meaningful.
func (a *autoscaler) isStarting(p pods.Pod, s sample) bool {
	ready := p.Condition("Ready")
	start, started := fields.Time(p.Object, "status", "startTime")
	if ready == nil || !started {
		return true
	}
	since, _ := fields.Time(ready, "lastTransitionTime")
	isFalse := ready.Field("status") == "False"
	if start.Add(a.options.CPUInitialization).After(a.Now) {
		return isFalse || s.time.Before(since.Add(s.window))
	}
	return isFalse && start.Add(a.options.InitialReadiness).After(since)
}

// A proposal is the number of replicas for a metric, and the metric's status.
type proposal struct {
	replicas int64
	name     string         // of the metric, in Events
	current  map[string]any // the value in the status
}

// replicasFor returns how many replicas Pods with this use need. Pods that are missing, or unready
// while it grows, count so that the change is smaller; it never turns it round.
func (a *autoscaler) replicasFor(of samples, name string, u usage) (replicas, percent, mean int64, err error) {
	if len(a.pods) == 0 {
		return 0, 0, 0, errNoPods
	}
	g := a.group(of, name)
	if len(of) == 0 {
		return 0, 0, 0, errors.New("did not receive metrics for targeted pods (pods might be unready)")
	}
	if u.requests != nil {
		if err := a.sumRequests(name, u.requests); err != nil {
			return 0, 0, 0, err
		}
	}
	ratio, percent, mean, err := u.ratio(of)
	if err != nil {
		return 0, 0, 0, err
	}
	growsWithUnready := len(g.unready) > 0 && ratio > 1
	if !growsWithUnready && len(g.missing) == 0 {
		if u.tolerance.has(ratio) {
			return a.scale.spec, percent, mean, nil
		}
		return ceil(ratio * float64(g.ready)), percent, mean, nil
	}
	for _, pod := range g.missing {
		switch {
		case ratio < 1:
			of[pod] = sample{value: u.missing(pod)}
		case ratio > 1:
			of[pod] = sample{}
		}
	}
	if growsWithUnready {
		for _, pod := range g.unready {
			of[pod] = sample{}
		}
	}
	replicas, err = a.replicasAgain(of, u, ratio)
	return replicas, percent, mean, err
}

// replicasAgain is for a use in which Pods are guessed.
func (a *autoscaler) replicasAgain(of samples, u usage, before float64) (int64, error) {
	ratio, _, _, err := u.ratio(of)
	if err != nil {
		return 0, err
	}
	now := a.scale.spec
	if u.tolerance.has(ratio) || before < 1 && ratio > 1 || before > 1 && ratio < 1 {
		return now, nil
	}
	replicas := ceil(ratio * float64(len(of)))
	if ratio < 1 && replicas > now || ratio > 1 && replicas < now {
		return now, nil
	}
	return replicas, nil
}

var errNoPods = errors.New("no pods returned by selector while calculating replica count")

// replicasForRatio returns how many replicas a use needs that is not of the Pods.
func (a *autoscaler) replicasForRatio(ratio float64, t tolerance) (int64, error) {
	if t.has(ratio) {
		return a.scale.spec, nil
	}
	if len(a.pods) == 0 {
		return 0, fmt.Errorf("unable to calculate ready pods: %w", errNoPods)
	}
	var ready int64
	for _, p := range a.pods {
		if p.Phase() == "Running" && p.IsReady() {
			ready++
		}
	}
	return ceil(ratio * float64(ready)), nil
}

// replicasForShares returns how many replicas are needed for each to have its share of a use, and
// the share that each has.
func (a *autoscaler) replicasForShares(sum, target int64, t tolerance) (replicas, share int64) {
	replicas = a.scale.status
	if !t.has(float64(sum) / (float64(target) * float64(replicas))) {
		replicas = ceil(float64(sum) / float64(target))
	}
	return replicas, int64(math.Ceil(float64(sum) / float64(a.scale.status)))
}

func ceil(n float64) int64 { return int64(math.Ceil(min(n, math.MaxInt32))) }

// sumRequests fills in the requests of the Pods for a resource, in thousandths.
func (a *autoscaler) sumRequests(name string, requests map[string]int64) error {
	for _, p := range a.pods {
		request, err := podRequest(p, name, a.container)
		if err != nil {
			return err
		}
		requests[p.GetName()] = request
	}
	return nil
}

// podRequest returns the request of a Pod as a whole, or the sum of its containers and sidecars, or
// the request of one of them.
func podRequest(p pods.Pod, name, container string) (sum int64, err error) {
	if container == "" && len(fields.Map(p.Object, "spec", "resources", "requests")) > 0 {
		n, ok := resources.OfPod(p.Unstructured)[name]
		if !ok {
			return 0, fmt.Errorf("missing pod-level request for %s in Pod %s", name, p.GetName())
		}
		if name != "cpu" {
			n *= 1000
		}
		return n, nil
	}
	found := container == ""
	for _, c := range mainContainers(p) {
		if container != "" && fields.String(c, "name") != container {
			continue
		}
		n, err := containerRequest(c, name)
		if err != nil {
			return 0, fmt.Errorf("missing request for %s in container %s of Pod %s", name, fields.String(c, "name"), p.GetName())
		}
		sum, found = sum+n, true
	}
	if !found {
		return 0, fmt.Errorf("container %s not found in Pod %s", container, p.GetName())
	}
	return sum, nil
}

func mainContainers(p pods.Pod) []map[string]any {
	all := fields.Maps(p.Object, "spec", "containers")
	for _, c := range fields.Maps(p.Object, "spec", "initContainers") {
		if fields.String(c, "restartPolicy") == "Always" {
			all = append(all, c)
		}
	}
	return all
}

// containerRequest returns the request of a container. Without a request it returns the limit, as
// an API server sets it.
func containerRequest(c map[string]any, name string) (int64, error) {
	for _, field := range []string{"requests", "limits"} {
		if v, ok := fields.Map(c, "resources", field)[name]; ok {
			q, err := quantity(v)
			return q.MilliValue(), err
		}
	}
	return 0, errors.New("no request")
}
