package autoscaling

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A rule is one direction of spec.behavior.
type rule struct {
	selectPolicy  string
	stabilization time.Duration
	policies      []policy
	tolerance     float64
}

type policy struct {
	percent bool
	value   int64
	period  time.Duration
}

// A behavior is spec.behavior. Without it, the rules are those of Kubernetes before the field
// existed.
type behavior struct {
	given    bool
	up, down rule
}

func (o Options) behaviorOf(spec map[string]any) behavior {
	m := fields.Map(spec, "behavior")
	return behavior{
		given: m != nil,
		up: readRule(fields.Map(m, "scaleUp"), rule{"Max", 0, []policy{
			{value: 4, period: 15 * time.Second}, {percent: true, value: 100, period: 15 * time.Second},
		}, o.Tolerance}),
		down: readRule(fields.Map(m, "scaleDown"), rule{"Max", o.Stabilization, []policy{
			{percent: true, value: 100, period: 15 * time.Second},
		}, o.Tolerance}),
	}
}

func (b behavior) tolerance() tolerance { return tolerance{down: b.down.tolerance, up: b.up.tolerance} }

func readRule(m map[string]any, r rule) rule {
	if s := fields.String(m, "selectPolicy"); s != "" {
		r.selectPolicy = s
	}
	r.stabilization = fields.Seconds(fields.Int64(m, int64(r.stabilization/time.Second), "stabilizationWindowSeconds"))
	if v := fields.Value(m, "tolerance"); v != nil {
		if q, err := quantity(v); err == nil {
			r.tolerance = q.AsApproximateFloat64()
		}
	}
	if fields.Value(m, "policies") != nil {
		r.policies = nil
		for _, p := range fields.Maps(m, "policies") {
			r.policies = append(r.policies, policy{fields.String(p, "type") == "Percent", fields.Int64(p, 0, "value"), fields.Seconds(fields.Int64(p, 0, "periodSeconds"))})
		}
	}
	return r
}

// A change is a number of replicas, recommended at a time, or added or removed then.
type change struct {
	replicas int64
	at       time.Time
}

// replaceOld replaces the last old change with a new one, or appends the new one.
func replaceOld(all []change, c change, isOld func(change) bool) []change {
	for i := len(all) - 1; i >= 0; i-- {
		if isOld(all[i]) {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}

// A limit is the reason for which the metrics want fewer or more replicas than are allowed.
type limit struct{ reason, message string }

var (
	withinRange      = limit{"DesiredWithinRange", "the desired count is within the acceptable range"}
	tooMany          = limit{"TooManyReplicas", "the desired replica count is more than the maximum replica count"}
	tooFew           = limit{"TooFewReplicas", "the desired replica count is less than the minimum replica count"}
	upLimit          = limit{"ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
	downLimit        = limit{"ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}
	readyForNewScale = limit{"ReadyForNewScale", "recommended size matches current size"}
	upStabilized     = limit{"ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"}
	downStabilized   = limit{"ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"}
)

// normalize limits the wanted replicas to what the autoscaler allows, and reports this in its
// conditions.
func (a *autoscaler) normalize(wanted int64) int64 {
	stable, why := a.stabilize(wanted)
	if stable == wanted {
		why = readyForNewScale
	}
	a.setCondition("AbleToScale", "True", why.reason, why.message)
	a.history.wanted, a.history.recommended = wanted, true
	desired, bound := a.bound(stable)
	a.limitedByRate = bound == upLimit || bound == downLimit
	limited := "True"
	if desired == stable {
		limited = "False"
	}
	a.setCondition("ScalingLimited", limited, bound.reason, bound.message)
	return desired
}

// stabilize returns the stabilized recommendation, which is bounded by the recommendations in the
// windows of the rules. Without a behavior only the highest one counts.
func (a *autoscaler) stabilize(wanted int64) (int64, limit) {
	upSince, downSince := a.Now.Add(-a.behavior.up.stabilization), a.Now.Add(-a.behavior.down.stabilization)
	lowest, highest := wanted, wanted
	for _, r := range a.history.recommendations {
		if a.behavior.given && r.at.After(upSince) {
			lowest = min(lowest, r.replicas)
		}
		if r.at.After(downSince) || !a.behavior.given && r.at.Equal(downSince) {
			highest = max(highest, r.replicas)
		}
	}
	a.history.recommendations = replaceOld(a.history.recommendations, change{wanted, a.Now}, func(r change) bool {
		return r.at.Before(downSince) && (!a.behavior.given || r.at.Before(upSince))
	})
	switch {
	case !a.behavior.given:
		return highest, downStabilized
	case wanted >= a.scale.spec:
		return min(max(a.scale.spec, lowest), highest), upStabilized
	}
	return min(max(a.scale.spec, lowest), highest), downStabilized
}

// bound brings a recommendation between the minimum and the maximum, and within the rate of the
// rules.
func (a *autoscaler) bound(wanted int64) (int64, limit) {
	now := a.scale.spec
	if !a.behavior.given {
		return a.boundWithoutBehavior(wanted)
	}
	switch {
	case wanted > now:
		most, why := a.max, tooMany
		if rate := max(now, a.behavior.up.limit(a, 1)); most > rate {
			most, why = rate, upLimit
		}
		if wanted > most {
			return most, why
		}
	case wanted < now:
		least, why := a.min, tooFew
		if rate := min(now, a.behavior.down.limit(a, -1)); least < rate {
			least, why = rate, downLimit
		}
		if wanted < least {
			return least, why
		}
	}
	return wanted, withinRange
}

func (a *autoscaler) boundWithoutBehavior(wanted int64) (int64, limit) {
	most, why := a.max, tooMany
	if rate := max(2*a.scale.spec, 4); most > rate {
		most, why = rate, upLimit
	}
	switch {
	case wanted < a.min:
		return a.min, tooFew
	case wanted > most:
		return most, why
	}
	return wanted, withinRange
}

// limit returns how many replicas a rule allows now, with a sign of 1 when they grow and -1 when
// they shrink.
func (r rule) limit(a *autoscaler, sign int64) int64 {
	if r.selectPolicy == "Disabled" {
		return a.scale.spec
	}
	most := int64(math.MinInt32)
	if r.selectPolicy == "Min" {
		most = math.MaxInt32
	}
	for _, p := range r.policies {
		before := a.scale.spec - changed(a.history.ups, a.Now.Add(-p.period)) + changed(a.history.downs, a.Now.Add(-p.period))
		most = pick(r.selectPolicy, most, sign*p.apply(before, sign))
	}
	return sign * most
}

// pick returns the smaller of two signed numbers for the policy Min, otherwise the larger number.
func pick(selectPolicy string, a, b int64) int64 {
	if selectPolicy == "Min" {
		return min(a, b)
	}
	return max(a, b)
}

// apply returns how many of the replicas at the beginning of its period a policy allows. It rounds
// growth up, because growth would never begin otherwise.
func (p policy) apply(before, sign int64) int64 {
	switch {
	case !p.percent:
		return before + sign*p.value
	case sign > 0:
		return int64(math.Ceil(float64(before) * (1 + float64(p.value)/100)))
	}
	return int64(float64(before) * (1 - float64(p.value)/100))
}

// changed sums up the changes after a time.
func changed(all []change, after time.Time) (sum int64) {
	for _, c := range all {
		if c.at.After(after) {
			sum += c.replicas
		}
	}
	return sum
}

// remember stores a change of the replicas for the policies.
func (a *autoscaler) remember(from, to int64) {
	if !a.behavior.given {
		return
	}
	events, r, by := &a.history.downs, a.behavior.down, from-to
	if to > from {
		events, r, by = &a.history.ups, a.behavior.up, to-from
	}
	var longest time.Duration
	for _, p := range r.policies {
		longest = max(longest, p.period)
	}
	outdated := a.Now.Add(-longest)
	*events = replaceOld(*events, change{by, a.Now}, func(c change) bool { return c.at.Before(outdated) })
}

func quantity(v any) (resource.Quantity, error) {
	return resource.ParseQuantity(fmt.Sprint(v))
}
