package statistics

import "math"

// Student returns the quantile of Student's distribution with some degrees of freedom: the value
// that a share of the draws does not exceed. It is NaN for shares that are not between 0 and 1, and
// for degrees of freedom that are not above 0.
func Student(share, freedom float64) float64 {
	switch {
	case !(share > 0 && share < 1 && freedom > 0):
		return math.NaN()
	case share < 0.5:
		return -Student(1-share, freedom)
	}
	low, high := 0.0, 1.0
	for studentTail(high, freedom) > 1-share && high < math.MaxFloat64/4 {
		low, high = high, 2*high
	}
	for range 100 {
		middle := low + (high-low)/2
		if studentTail(middle, freedom) > 1-share {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// studentTail is the probability of more than t; t >= 0.
func studentTail(t, freedom float64) float64 {
	return incompleteBeta(freedom/(freedom+t*t), freedom/2, 0.5) / 2
}

// incompleteBeta is the regularized incomplete beta function I_x(a, b).
func incompleteBeta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - incompleteBeta(1-x, b, a)
	}
	front := math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + a*math.Log(x) + b*math.Log1p(-x))
	return front * betaFraction(x, a, b) / a
}

func logGamma(v float64) float64 {
	l, _ := math.Lgamma(v)
	return l
}

// betaFraction is the continued fraction of the incomplete beta function (Abramowitz and Stegun
// 26.5.8), evaluated from the front by the method of Lentz.
func betaFraction(x, a, b float64) float64 {
	const enough, tiny = 1e-15, 1e-300
	fraction, c, d := 1.0, 1.0, 0.0
	for i := range 1000 {
		n := term(i, x, a, b)
		d = 1 / nonzero(1+n*d, tiny)
		c = nonzero(1+n/c, tiny)
		fraction *= c * d
		if i > 0 && math.Abs(c*d-1) < enough {
			break
		}
	}
	return 1 / fraction
}

func nonzero(v, tiny float64) float64 {
	if v == 0 {
		return tiny
	}
	return v
}

// term is the i-th numerator of the fraction 1 + d0/(1 + d1/(1 + …)).
func term(i int, x, a, b float64) float64 {
	m := float64((i + 1) / 2)
	if i%2 == 0 {
		return -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
	}
	return m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
}
