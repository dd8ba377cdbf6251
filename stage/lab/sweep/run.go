package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/garbage"
)

// Options are how a sweep is run. The zero value runs all of it on all cores and keeps the result in
// memory.
type Options struct {
	// File is the file of the results, where a restarted sweep finds them. Default: no file.
	File string
	// Workers is how many runs go on at once. Default: GOMAXPROCS.
	Workers int
	// Shard is the part to run.
	Shard Shard
	// Memory is how many bytes the process may use for each worker: if it uses more even after
	// garbage was collected, the sweep ends with an error. Default: 2 GiB. Start the process with
	// GOMEMLIMIT a little below it, so that garbage is collected in time.
	Memory uint64
	// Progress is called after each run, by one goroutine at a time. Default: no call.
	Progress func(Progress)
}

// Progress is how far a sweep, or the part of it that this process runs, is.
type Progress struct {
	Done  int // runs, with runs that were in the file
	Found int // runs that were in the file
	All   int // runs; if the study stops by itself, runs that are known to be needed
	Last  Run // the run that has ended
}

// Do does the runs that are not in the file yet. If a run fails, or ctx is done, the error names
// it, and the file has all finished runs. Meanwhile Go collects garbage less often in the whole process:
// GOGC is 400, unless the environment has GOGC.
func Do(ctx context.Context, s Study, o Options) (*Result, error) {
	if err := errors.Join(s.check(), o.Shard.check()); err != nil {
		return nil, err
	}
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.Memory = cmp.Or(o.Memory, 2<<30)
	d := &sweeping{Options: o, result: newResult(s)}
	if err := d.open(); err != nil {
		return nil, err
	}
	defer garbage.CollectLess()()
	err := d.run(ctx)
	if err = errors.Join(err, d.close(err == nil)); err != nil {
		return nil, err
	}
	return d.result, nil
}

// A sweeping is a sweep under way.
type sweeping struct {
	Options
	result   *Result
	file     *appender
	progress Progress
}

// run runs rounds until no point needs more seeds.
func (d *sweeping) run(ctx context.Context) error {
	for {
		mine := slices.DeleteFunc(d.result.needed(), func(k key) bool { return !d.Shard.has(d.result.study, k) })
		missing := slices.DeleteFunc(slices.Clone(mine), d.result.has)
		done := len(mine) - len(missing)
		d.progress.All, d.progress.Found = len(mine), d.progress.Found+done-d.progress.Done
		d.progress.Done = done
		if len(missing) == 0 {
			return errors.Join(ctx.Err(), d.result.checkStop())
		}
		if err := d.round(ctx, missing); err != nil {
			return err
		}
	}
}

// An outcome is the result of a run.
type outcome struct {
	key    key
	values []float64
	err    error
}

// round runs some runs on all workers.
func (d *sweeping) round(parent context.Context, runs []key) (err error) {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	outcomes := d.start(ctx, runs)
	watched := watchMemory(ctx, stop, d.Memory*uint64(d.Workers))
	for o := range outcomes {
		if o.err == nil {
			o.err = d.keep(o)
		}
		if o.err != nil && err == nil {
			err = fmt.Errorf("sweep: %s: %w", d.result.runOf(o.key), cmp.Or(context.Cause(ctx), o.err))
			stop(err)
		}
	}
	stop(nil)
	<-watched
	return cmp.Or(err, context.Cause(parent), checkMemory(d.Memory*uint64(d.Workers)))
}

// start makes the workers do some runs. The channel is closed when all have ended.
func (d *sweeping) start(ctx context.Context, runs []key) <-chan outcome {
	next, outcomes := make(chan key), make(chan outcome)
	go func() {
		defer close(next)
		for _, k := range runs {
			select {
			case next <- k:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range min(d.Workers, len(runs)) {
		workers.Go(func() {
			for k := range next {
				outcomes <- d.one(ctx, k)
			}
		})
	}
	go func() {
		workers.Wait()
		close(outcomes)
	}()
	return outcomes
}

// one runs one run.
func (d *sweeping) one(ctx context.Context, k key) outcome {
	s := d.result.study
	values, err := s.Run(ctx, d.result.runOf(k))
	switch {
	case err != nil:
	case ctx.Err() != nil: // it may have stopped in the middle
		err = ctx.Err()
	case len(values) != len(s.Metrics):
		err = fmt.Errorf("it returned %d values for %d metrics", len(values), len(s.Metrics))
	}
	for i, v := range values {
		if err == nil && math.IsInf(v, 0) {
			err = fmt.Errorf("%s is %v", s.Metrics[i], v)
		}
	}
	return outcome{k, values, err}
}

// keep adds a run to the file and to the result.
func (d *sweeping) keep(o outcome) error {
	for i, v := range o.values {
		if err := d.result.set(o.key, i, cell{value: v, known: true}); err != nil {
			return err
		}
	}
	if err := d.file.append(d.result.rowsOf(o.key)); err != nil {
		return err
	}
	d.progress.Done++
	d.progress.Last = d.result.runOf(o.key)
	if d.Progress != nil {
		d.Progress(d.progress)
	}
	return nil
}
