package main

import (
	"context"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
)

func gpu(ctx context.Context, o options, c *clock) (*report.Report, error) { return &report.Report{}, nil }
func scale(ctx context.Context, o options, c *clock) (*report.Report, error) { return &report.Report{}, nil }
func (l *lab) writeLog(name, run string) error { return nil }
