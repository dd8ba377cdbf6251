package kubelet

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// never is later than any container runs.
const never = time.Duration(math.MaxInt64 / 4)

// A probe says when the kubelet probes a container, and how the container answers. Times count from
// its start.
type probe struct {
	delay, period    time.Duration
	success, failure int64
	answer           answer
}

// An answer is ok until a time, and the contrary afterwards.
type answer struct {
	ok    bool
	until time.Duration
}

// probeOf reads a probe of a container, or nil. The kind is startup, readiness or liveness.
func probeOf(pod *unstructured.Unstructured, spec map[string]any, kind string) (*probe, error) {
	m := fields.Map(spec, kind+"Probe")
	if m == nil {
		return nil, nil
	}
	p := &probe{
		delay: fields.Seconds(fields.Int64(m, 0, "initialDelaySeconds")), period: fields.Seconds(atLeastOne(m, 10, "periodSeconds")),
		success: atLeastOne(m, 1, "successThreshold"), failure: atLeastOne(m, 3, "failureThreshold"),
	}
	key := kind + AnswerSuffix + fields.String(spec, "name")
	var err error
	if p.answer, err = parseAnswer(fields.Annotation(pod, key)); err != nil {
		return nil, fmt.Errorf("metadata.annotations[%s]: %w", key, err)
	}
	return p, nil
}

func atLeastOne(m map[string]any, byDefault int64, field string) int64 {
	if n := fields.Int64(m, 0, field); n > 0 {
		return n
	}
	return byDefault
}

func parseAnswer(text string) (answer, error) {
	word, after, changes := strings.Cut(text, " after ")
	a := answer{ok: word != "fails", until: never}
	if word != "" && word != "fails" && word != "succeeds" || changes && word == "" {
		return a, fmt.Errorf("%q is no answer of a probe; want succeeds or fails, or one of them with after and a duration", text)
	}
	if !changes {
		return a, nil
	}
	d, err := time.ParseDuration(after)
	if err != nil || d < 0 {
		return a, fmt.Errorf("%q: %q is no duration such as 30s", text, after)
	}
	return answer{ok: !a.ok, until: wholeSeconds(d)}, nil
}

// seen returns when n answers in a row have been seen, which begin at a time or later. The first
// probe is after initialDelaySeconds and not before a time.
func (p *probe) seen(notBefore, begin time.Duration, n int64) time.Duration {
	if begin >= never || notBefore >= never {
		return never
	}
	first := max(p.delay, notBefore)
	if begin > first {
		first += (begin - first + p.period - 1) / p.period * p.period
	}
	return first + time.Duration(n-1)*p.period
}

// begin returns when the answers of a kind begin and end.
func (a answer) begin(ok bool) (begin, end time.Duration) {
	if a.ok == ok {
		return 0, a.until
	}
	return a.until, never
}

// passes returns from when to when a container counts as well.
func (p *probe) passes(notBefore time.Duration) (from, to time.Duration) {
	begin, end := p.answer.begin(true)
	from, to = p.seen(notBefore, begin, p.success), p.seen(notBefore, end, p.failure)
	if from >= p.seen(notBefore, end, 1) {
		return never, never
	}
	return from, to
}

// fails returns when a container has failed so often that it is stopped.
func (p *probe) fails(notBefore time.Duration) time.Duration {
	begin, end := p.answer.begin(false)
	at := p.seen(notBefore, begin, p.failure)
	if at >= p.seen(notBefore, end, 1) {
		return never
	}
	return at
}
