package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/cluster/measure"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/cluster/podcreator"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

// A mode says whether the pods or the program exist first.
type mode string

const (
	backlog mode = "backlog"
	live    mode = "live"
)

// runMode runs a round in each mode.
var runMode = map[mode]func(*round, context.Context) error{backlog: (*round).backlog, live: (*round).live}

// A setting is the parameters of a round.
type setting struct {
	mode    mode
	workers int
	pods    int
}

// A result is the measurements of one program in one round.
type result struct {
	setting
	player string

	took       time.Duration // until the last pod was Running
	cpu        time.Duration // of the program until then; in mode backlog with its start
	allCPU     time.Duration // CPU of the program, the servers and the pod creator together
	peak       int64         // largest number of resident bytes, including the deletion of the pods
	p50, p99   time.Duration // from the creation of a pod, or from the start of the program, to Running
	patches    int           // requests for single pods
	deletes    int
	otherCores float64 // cores that other programs on the machine used
}

func (r result) rate() float64                  { return float64(r.pods) / r.took.Seconds() }
func (r result) perPod(d time.Duration) float64 { return d.Seconds() * 1000 / float64(r.pods) }

// An environment is the cluster and the files of all rounds.
type environment struct {
	client     *kubernetes.Clientset
	kubeconfig string
	nodes      int
	dir        string // for logs
	keep       bool
	rounds     int
}

func newEnvironment(plane *controlplane.Plane, o options) (*environment, error) {
	client, err := podcreator.NewClient(plane.Config())
	if err != nil {
		return nil, err
	}
	s := &environment{client: client, kubeconfig: plane.Kubeconfig(), nodes: o.nodes, dir: o.keep, keep: o.keep != ""}
	if !s.keep {
		s.dir = filepath.Dir(s.kubeconfig) // goes with the control plane
		return s, nil
	}
	return s, os.MkdirAll(s.dir, 0o755)
}

// A round is one program with one set of pods.
type round struct {
	*environment
	setting
	program program
	creator *podcreator.Creator
	process *measure.Process

	began       time.Time
	cpu         time.Duration // when it began
	all, own    time.Duration // CPU time of the machine, and of this process and its children, when it began
	measurement result
}

func (s *environment) round(ctx context.Context, set setting, p program) (_ result, err error) {
	s.rounds++
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	c, err := podcreator.New(ctx, s.client, podcreator.Options{Namespace: fmt.Sprintf("round-%d", s.rounds), Pods: set.pods, Nodes: s.nodes})
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	r := &round{environment: s, setting: set, program: p, creator: c, measurement: result{setting: set, player: p.name}}
	err = r.run(ctx)
	return r.measurement, err
}

func (r *round) run(ctx context.Context) (err error) {
	before, err := measure.Served(ctx, r.client.RESTClient())
	if err != nil {
		return err
	}
	defer func() {
		if r.process != nil {
			err = errors.Join(err, r.process.Stop())
		}
	}()
	if err := runMode[r.mode](r, ctx); err != nil {
		return err
	}
	if err := r.recordRun(); err != nil {
		return err
	}
	if err := errors.Join(r.creator.Delete(ctx), r.creator.WaitGone(ctx)); err != nil {
		return err
	}
	return r.recordRequests(ctx, before)
}

// backlog starts the program after the pods exist.
func (r *round) backlog(ctx context.Context) error {
	if err := errors.Join(r.creator.AddNodes(ctx), r.creator.Create(ctx), r.settle(ctx)); err != nil {
		return err
	}
	if err := errors.Join(r.startMeasuring(), r.start()); err != nil {
		return err
	}
	return r.creator.WaitRunning(ctx)
}

// live starts the program before the pods are created.
func (r *round) live(ctx context.Context) error {
	if err := errors.Join(r.start(), r.creator.AddNodes(ctx), r.creator.WaitReady(ctx), r.settle(ctx)); err != nil {
		return err
	}
	if err := errors.Join(r.startMeasuring(), r.creator.Create(ctx)); err != nil {
		return err
	}
	return r.creator.WaitRunning(ctx)
}

// settle waits until the server and the program are idle.
func (r *round) settle(ctx context.Context) error {
	err := measure.Collect(ctx, r.client.RESTClient())
	time.Sleep(time.Second)
	return err
}

func (r *round) start() (err error) {
	name := filepath.Join(r.dir, fmt.Sprintf("%02d-%s-%s-%d", r.rounds, r.program.name, r.mode, r.workers))
	l := launch{kubeconfig: r.kubeconfig, workers: r.workers}
	if r.keep {
		l.keep = name
	}
	r.process, err = measure.Start(name+".log", r.program.path, r.program.args(l)...)
	return err
}

// startMeasuring records the time and the CPU time before a measurement.
func (r *round) startMeasuring() (err error) {
	if r.process != nil {
		u, err := r.process.Usage()
		if err != nil {
			return err
		}
		r.cpu = u.CPU
	}
	r.all, r.own, err = measure.Machine()
	r.began = time.Now()
	return err
}

// recordRun records the measurements after the last pod was Running.
func (r *round) recordRun() error {
	u, err := r.process.Usage()
	if err != nil {
		return err
	}
	all, own, err := measure.Machine()
	if err != nil {
		return err
	}
	m := &r.measurement
	m.took, m.cpu = time.Since(r.began), u.CPU-r.cpu
	m.allCPU = own - r.own
	m.otherCores = max(0, (all-r.all-m.allCPU).Seconds()/m.took.Seconds())
	latencies := r.creator.Latencies(r.began)
	m.p50, m.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	return nil
}

// recordRequests records the requests. Pods are deleted by one request for the collection, so every
// DELETE of a single pod was sent by the program.
func (r *round) recordRequests(ctx context.Context, before measure.Requests) error {
	time.Sleep(time.Second) // for requests that were not needed
	after, err := measure.Served(ctx, r.client.RESTClient())
	if err != nil {
		return err
	}
	u, err := r.process.Usage()
	if err != nil {
		return err
	}
	served := after.Since(before)
	r.measurement.patches, r.measurement.deletes, r.measurement.peak = served["PATCH"], served["DELETE"], u.Peak
	return nil
}
