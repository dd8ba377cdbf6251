package measure

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"k8s.io/client-go/rest"
)

// Requests is the number of requests for single pods that a server has answered, by verb, such as
// PATCH or DELETE.
type Requests map[string]int

// Served reads the number of answers of the API server since its start, from its metrics.
func Served(ctx context.Context, client rest.Interface) (Requests, error) {
	text, err := client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("the metrics of the server: %w", err)
	}
	return parseRequests(text)
}

var counter = regexp.MustCompile(`^apiserver_request_total\{.*resource="pods",scope="resource".*verb="([A-Z]+)".*\} (\S+)$`)

func parseRequests(text []byte) (Requests, error) {
	r := Requests{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := counter.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", lines.Text(), err)
		}
		r[m[1]] += int(n)
	}
	return r, lines.Err()
}

// Collect makes the API server collect garbage, so that garbage of one round is not collected
// during the next one.
func Collect(ctx context.Context, client rest.Interface) error {
	_, err := client.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("collecting the garbage of the server: %w", err)
	}
	return nil
}

// Since returns the number of answers after before.
func (r Requests) Since(before Requests) Requests {
	d := maps.Clone(r)
	for verb, n := range before {
		d[verb] -= n
	}
	return d
}
