package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	changes   = 50  // of Pods that are watched
	namespace = "w" // of the Pods
	connected = 50  // watchers per connection
)

// watches prints the cost of watchers of many Pods, and the delay of a change.
func watches(ctx context.Context, o options, servers ...server) error {
	for _, s := range servers {
		if err := s.watched(ctx, o); err != nil {
			return fmt.Errorf("%s: watches: %w", s.name, err)
		}
	}
	return nil
}

func (s server) watched(ctx context.Context, o options) error {
	pods, err := s.pods(ctx, namespace, "application/json")
	if err != nil {
		return err
	}
	if err := each(o.pods, o.clients, func(i int) error { _, err := pods.Create(ctx, pod(i), metav1.CreateOptions{}); return err }); err != nil {
		return err
	}
	list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	before, err := s.memory()
	if err != nil {
		return err
	}
	w := &watchers{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := w.start(ctx, s.config, o.watchers, list.ResourceVersion); err != nil {
		return err
	}
	cpu, err := s.cpu()
	if err != nil {
		return err
	}
	for i := range changes {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"sent":"@%d@"}}}`, time.Now().UnixNano())
		if _, err := pods.Patch(ctx, name(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	delays := w.wait(o.watchers * changes)
	used, err := s.cpu()
	if err != nil {
		return err
	}
	after, err := s.memory()
	if err != nil {
		return err
	}
	fmt.Printf("%d watchers of %d Pods, %d changes: %s: %d of %d events, delay %s (middle), %s (99 %%), CPU per event %s, memory %d MiB before and %d MiB with them\n",
		o.watchers, o.pods, changes, s.name, len(delays), o.watchers*changes, delays[len(delays)/2], delays[len(delays)*99/100],
		(used-cpu)/time.Duration(o.watchers*changes), before>>20, after>>20)
	return nil
}

// watchers learn of changes at the same time.
type watchers struct {
	mu     sync.Mutex
	delays []time.Duration
}

func (w *watchers) start(ctx context.Context, config *rest.Config, n int, version string) error {
	var client *kubernetes.Clientset
	for i := range n {
		if i%connected == 0 {
			c := rest.CopyConfig(config)
			c.QPS, c.UserAgent = -1, "watcher-"+strconv.Itoa(i)
			// A separate transport, because a connection has a limit of streams.
			c.Dial = (&net.Dialer{}).DialContext
			var err error
			if client, err = kubernetes.NewForConfig(c); err != nil {
				return err
			}
		}
		stream, err := client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").
			Param("watch", "1").Param("resourceVersion", version).Stream(ctx)
		if err != nil {
			return err
		}
		go w.read(stream)
	}
	return nil
}

func (w *watchers) read(stream io.ReadCloser) {
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		now := time.Now()
		_, after, is := bytes.Cut(lines.Bytes(), []byte(`"sent":"@`))
		text, _, _ := bytes.Cut(after, []byte("@"))
		sent, err := strconv.ParseInt(string(text), 10, 64)
		if !is || err != nil {
			continue
		}
		w.mu.Lock()
		w.delays = append(w.delays, now.Sub(time.Unix(0, sent)))
		w.mu.Unlock()
	}
}

// wait returns the delays of n events, sorted, or of the events that came within a minute.
func (w *watchers) wait(n int) []time.Duration {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		w.mu.Lock()
		have := len(w.delays)
		w.mu.Unlock()
		if have >= n {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.delays)
	return append(slices.Clone(w.delays), 0)[:max(1, len(w.delays))]
}
