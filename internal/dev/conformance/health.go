package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A healthCase is a case of health/: an object, and the status that another project's health is
// mapped to; none if it is not scored.
type healthCase struct {
	Name, Manifest string
	WantStatus     kstatus.Status
	WantHealth     string
	Suspended      bool
}

// profiles are the rules that are scored, by the name of the suite.
var profiles = []struct {
	name  string
	rules *kstatus.Rules
}{
	{"health", kstatus.Extended()},
	{"health-standard", kstatus.Standard()},
	{"health-generic", kstatus.Extended().Generic()},
}

// scoreHealth prints for each profile and file
//
//	suite PROFILE/FILE agree/total falseCurrent N
//
// and, if verbose, the disagreements. Scores are no tests: another project's opinion decides
// nothing. Objects that are being deleted are not scored, because the other project ignores that.
func scoreHealth(w io.Writer, dir, only string, verbose bool) error {
	for _, file := range []string{"argo", "gitops"} {
		var cases []healthCase
		err := readJSON(filepath.Join(dir, "health", file+".json"), &cases)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, p := range profiles {
			name := p.name + "/" + file
			if !strings.Contains(name, only) {
				continue
			}
			if err := scoreFile(w, name, p.rules, cases, verbose); err != nil {
				return err
			}
		}
	}
	return nil
}

func scoreFile(w io.Writer, name string, rules *kstatus.Rules, cases []healthCase, verbose bool) error {
	var agree, total, falseCurrent, deleted int
	var report strings.Builder
	for _, c := range cases {
		obj, now, err := decode(statusCase{Manifest: c.Manifest})
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", c.Name, err)
		case c.WantStatus == "":
			continue
		case obj.GetDeletionTimestamp() != nil:
			deleted++
			continue
		}
		total++
		got := rules.Compute(obj, now)
		if got.Status == c.WantStatus {
			agree++
			continue
		}
		if got.Status == kstatus.Current {
			falseCurrent++
		}
		fmt.Fprintf(&report, "DIFF %s %s: want %s (%s), got %s\n", name, c.Name, c.WantStatus, c.WantHealth, got)
	}
	fmt.Fprintf(w, "suite %s %d/%d falseCurrent %d\n", name, agree, total, falseCurrent)
	if verbose {
		fmt.Fprintf(w, "%snot scored, being deleted: %d\n", report.String(), deleted)
	}
	return nil
}
