package timing

import (
	"fmt"
	"math"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/random"
)

// Limits are the rate limit of a client: QPS requests per second, and at most Burst requests at
// once. QPS 0 or less means no limit.
type Limits struct {
	QPS   float64
	Burst int // at least 1; less counts as 1
}

// String prints "20 requests/s, burst 30".
func (l Limits) String() string {
	if l.QPS <= 0 {
		return "no limit"
	}
	return fmt.Sprintf("%g requests/s, burst %d", l.QPS, max(l.Burst, 1))
}

// A Bucket has the tokens of a rate limit. It is full at the start.
type Bucket struct {
	limits Limits
	tokens float64
	last   time.Time
}

// NewBucket returns a full bucket.
func NewBucket(l Limits) *Bucket {
	return &Bucket{limits: l, tokens: float64(max(l.Burst, 1))}
}

// Take takes a token and returns the time at which the token is available: now, or later if other
// requests wait.
func (b *Bucket) Take(now time.Time) time.Time {
	if b.limits.QPS <= 0 {
		return now
	}
	b.fill(now)
	b.tokens--
	if b.tokens >= 0 {
		return now
	}
	return now.Add(time.Duration(math.Round(-b.tokens / b.limits.QPS * float64(time.Second))))
}

// TryTake takes a token if one is available, and reports whether it did.
func (b *Bucket) TryTake(now time.Time) bool {
	b.fill(now)
	if b.limits.QPS > 0 && b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// fill adds the tokens for the time that has passed. It rounds sums of fractions, so that a token
// is available at the exact time.
func (b *Bucket) fill(now time.Time) {
	if passed := now.Sub(b.last); passed > 0 && !b.last.IsZero() {
		b.tokens = min(b.tokens+passed.Seconds()*b.limits.QPS, float64(max(b.limits.Burst, 1)))
		b.tokens = math.Round(b.tokens*1e9) / 1e9
	}
	if now.After(b.last) {
		b.last = now
	}
}

// A Verb is the kind of a request.
type Verb int

// The requests that take time.
const (
	Create Verb = iota
	Patch
	Delete
)

// A Distribution is the time that a request takes, in seconds. The distributions of package load
// implement it.
type Distribution interface {
	// Quantile returns the time that the given share of the requests does not exceed; 0 <= share <
	// 1.
	Quantile(share float64) float64
}

// LogNormal is the log-normal distribution with a median, and a P99 that one request in a hundred
// exceeds.
type LogNormal struct{ Median, P99 time.Duration }

// Quantile returns seconds.
func (l LogNormal) Quantile(share float64) float64 {
	if l.P99 <= l.Median || share <= 0 {
		return l.Median.Seconds()
	}
	const z99 = 2.3263478740408408 // the 99th percentile of a standard normal
	sigma := math.Log(l.P99.Seconds()/l.Median.Seconds()) / z99
	return l.Median.Seconds() * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*share-1))
}

// String prints "median 5ms, p99 50ms".
func (l LogNormal) String() string { return fmt.Sprintf("median %s, p99 %s", l.Median, l.P99) }

// Latency is the time that the API server takes for a request, by verb. Nil means no time.
type Latency struct{ Create, Patch, Delete Distribution }

func (l Latency) of(v Verb) Distribution {
	switch v {
	case Create:
		return l.Create
	case Patch:
		return l.Patch
	default:
		return l.Delete
	}
}

// A Client sends the requests of one program. It must not be used from several goroutines at once.
type Client struct {
	bucket  *Bucket
	latency Latency
	random  random.Hash
	sent    uint64
}

// NewClient returns a client that has not sent anything. The seed decides the latencies.
func NewClient(l Limits, latency Latency, seed uint64) *Client {
	return &Client{bucket: NewBucket(l), latency: latency, random: random.New(seed).Text("latency")}
}

// Send returns the time at which a request that is sent now takes effect: after the wait for its
// token, and after the latency of the API server. The time is rounded to microseconds.
func (c *Client) Send(now time.Time, v Verb) time.Time {
	at := c.bucket.Take(now)
	c.sent++
	if d := c.latency.of(v); d != nil {
		share := float64(c.random.Number(c.sent).Sum()>>11) / (1 << 53)
		at = at.Add(time.Duration(math.Round(d.Quantile(share)*1e6)) * time.Microsecond)
	}
	return at
}
