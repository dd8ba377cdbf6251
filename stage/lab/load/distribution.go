package load

import (
	"fmt"
	"math"
	"slices"
)

// A Distribution is a probability distribution, given by its quantiles.
type Distribution interface {
	// Quantile returns the value that a share of the draws does not exceed; 0 <= share < 1. The
	// value must be finite and depend only on share.
	Quantile(share float64) float64
}

// Fixed is a distribution with a single value.
type Fixed float64

// Quantile returns the value.
func (f Fixed) Quantile(float64) float64 { return float64(f) }

// Uniform is a continuous uniform distribution between Low and High.
type Uniform struct{ Low, High float64 }

// Quantile interpolates between Low and High.
func (u Uniform) Quantile(share float64) float64 { return u.Low + share*(u.High-u.Low) }

// Exponential is memoryless: gaps with this distribution make a Poisson process, in which arrivals
// are independent.
type Exponential struct{ Mean float64 }

// Quantile is -Mean ln(1-share).
func (e Exponential) Quantile(share float64) float64 { return -e.Mean * math.Log1p(-share) }

// Weibull has bursts and long pauses if Shape is below 1, is exponential if Shape is 1, and more
// regular above. Its mean is Scale * Γ(1+1/Shape).
type Weibull struct{ Shape, Scale float64 }

// Quantile is Scale (-ln(1-share))^(1/Shape).
func (w Weibull) Quantile(share float64) float64 {
	return w.Scale * math.Pow(-math.Log1p(-share), 1/w.Shape)
}

// LogNormal is a value whose logarithm is normally distributed: Median * exp(Sigma * Z) for a
// standard normal Z. Its mean is Median * exp(Sigma²/2).
type LogNormal struct{ Median, Sigma float64 }

// Quantile is Median exp(Sigma Φ⁻¹(share)). For share 0 it is 0.
func (l LogNormal) Quantile(share float64) float64 {
	if l.Sigma == 0 {
		return l.Median
	}
	return l.Median * math.Exp(l.Sigma*math.Sqrt2*math.Erfinv(2*share-1))
}

// Values are equally likely; a value that is listed twice is twice as likely. Observed values can
// be used directly.
type Values []float64

// Quantile takes the values in the given order, which makes no difference to draws.
func (v Values) Quantile(share float64) float64 {
	return v[min(int(share*float64(len(v))), len(v)-1)]
}

// Points are known quantiles, as in a published table. Between two points the value is
// interpolated; below the first and above the last it is the value of the nearest point. Give the
// smallest and the largest value as well.
type Points []Point

// A Point is one known quantile: a Share of the draws does not exceed Value.
type Point struct{ Share, Value float64 }

// Quantile interpolates between the points.
func (p Points) Quantile(share float64) float64 {
	i := slices.IndexFunc(p, func(at Point) bool { return at.Share >= share })
	switch {
	case i < 0:
		return p[len(p)-1].Value
	case i == 0:
		return p[0].Value
	}
	low, high := p[i-1], p[i]
	return low.Value + (share-low.Share)/(high.Share-low.Share)*(high.Value-low.Value)
}

// Check returns an error if the parameters of a distribution are invalid. If the distribution is
// not from this package, it checks that some quantiles are finite.
func Check(d Distribution) error {
	if d == nil {
		return fmt.Errorf("load: no distribution")
	}
	if of, ok := d.(interface{ fault() string }); ok {
		if fault := of.fault(); fault != "" {
			return fmt.Errorf("load: %#v: %s", d, fault)
		}
		return nil
	}
	for _, share := range []float64{0, 0.25, 0.5, 0.75, largestShare} {
		if v := d.Quantile(share); !finite(v) {
			return fmt.Errorf("load: %#v: the quantile of %v is %v", d, share, v)
		}
	}
	return nil
}

// largestShare is the largest share that a Stream draws.
const largestShare = 1 - 1.0/(1<<53)

func finite(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// complaint returns "" if a condition holds, and otherwise says what is wanted.
func complaint(what string, is bool) string {
	if is {
		return ""
	}
	return "want " + what
}

func (f Fixed) fault() string { return complaint("a finite number", finite(float64(f))) }

func (u Uniform) fault() string {
	return complaint("finite Low <= High", finite(u.Low, u.High, u.High-u.Low) && u.Low <= u.High)
}

func (e Exponential) fault() string {
	return complaint("a finite Mean >= 0", finite(e.Mean, e.Quantile(largestShare)) && e.Mean >= 0)
}

func (w Weibull) fault() string {
	return complaint("Shape > 0 and Scale >= 0 that give finite values", w.Shape > 0 && w.Scale >= 0 && finite(w.Shape, w.Quantile(largestShare)))
}

func (l LogNormal) fault() string {
	return complaint("Median >= 0 and Sigma >= 0 that give finite values", l.Median >= 0 && l.Sigma >= 0 && finite(l.Quantile(largestShare)))
}

func (v Values) fault() string {
	return complaint("at least one value, all finite", len(v) > 0 && finite(v...))
}

func (p Points) fault() string {
	for i, at := range p {
		if !(at.Share >= 0 && at.Share <= 1) || !finite(at.Value) || i > 0 && (at.Share <= p[i-1].Share || at.Value < p[i-1].Value) {
			return fmt.Sprintf("point %d: want shares between 0 and 1 that rise, and finite values that do not fall", i)
		}
	}
	return complaint("at least one point", len(p) > 0)
}
