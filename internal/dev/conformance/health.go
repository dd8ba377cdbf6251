package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A healthCase is a case of health/: an object, and the status that another project's health is
// mapped to. A case that is not scored has no status.
type healthCase struct {
	Name, Manifest string
	Group, Kind    string
	WantStatus     kstatus.Status
	WantHealth     string
	Suspended      bool
	NotCurrent     bool   // the source only says that the object is not ready
	Arguable       string // why the label can be doubted
}

// A healthFile is the opinion of one source, or of several with few cases each.
type healthFile struct{ dir, name string }

// healthFiles are the files of health/ and health-3/, in the order of the tables.
var healthFiles = []healthFile{
	{"health", "argo"}, {"health", "gitops"}, {"health", "argo-2"},
	{"health", "karmada"}, {"health", "rancher"}, {"health", "pulumi"}, {"health", "kapp"}, {"health", "auto-ready"},
	{"health-3", "apidocs"}, {"health-3", "aso"}, {"health-3", "gardener"}, {"health-3", "karmada-native"}, {"health-3", "katib"},
	{"health-3", "knative"}, {"health-3", "knative-run"}, {"health-3", "kubedb"}, {"health-3", "kubefleet"}, {"health-3", "kubevirt"},
	{"health-3", "kyma"}, {"health-3", "octant"}, {"health-3", "openshift"}, {"health-3", "portworx"}, {"health-3", "spinnaker"},
	{"health-3", "tekton"}, {"health-3", "wrangler"},
}

// together returns the name of the row that sums up a file with others: "other, together" for the
// sources of health/ that are not Argo CD, and "health-3, together". It returns "" for Argo CD's files.
func (f healthFile) together() string {
	switch {
	case f.dir == "health-3":
		return "health-3, together"
	case f.name != "gitops" && !strings.HasPrefix(f.name, "argo"):
		return "other, together"
	}
	return ""
}

// A profile is rules that are scored.
type profile struct {
	name    string
	suite   string // in the name of its line
	rules   *kstatus.Rules
	unknown bool // the objects get a group that is in no table
}

var profiles = []profile{
	{"Standard", "health-standard", kstatus.Standard(), false},
	{"Extended", "health", kstatus.Extended(), false},
	{"generic layer", "health-generic", kstatus.Extended().Generic(), false},
	{"kinds unknown", "health-unknown", kstatus.Extended().Generic(), true},
}

// A verdict is the result of the rules for a case.
type verdict struct {
	healthCase
	got     kstatus.Result
	deleted bool // the object is being deleted, which the sources ignore
}

// A score counts verdicts.
type score struct{ total, exact, lenient, falseCurrent int }

func (s *score) add(v verdict) {
	s.total++
	ready := v.got.Status == kstatus.Current
	switch {
	case v.got.Status == v.WantStatus:
		s.exact, s.lenient = s.exact+1, s.lenient+1
	case ready:
		s.falseCurrent++
	case v.NotCurrent:
		s.lenient++
	}
}

func (s *score) join(o score) {
	s.total, s.exact = s.total+o.total, s.exact+o.exact
	s.lenient, s.falseCurrent = s.lenient+o.lenient, s.falseCurrent+o.falseCurrent
}

func percent(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, of))) }

// readHealth returns the scored cases of a file, or no cases without the file.
func readHealth(dir string, file healthFile) (scored []healthCase, err error) {
	var cases []healthCase
	err = readJSON(filepath.Join(dir, file.dir, file.name+".json"), &cases)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, c := range cases {
		if c.WantStatus != "" {
			scored = append(scored, c)
		}
	}
	return scored, err
}

// judge returns the verdicts of profiles. It decodes each case once, which takes most of the time.
func judge(cases []healthCase, profiles ...profile) ([][]verdict, error) {
	out := make([][]verdict, len(profiles))
	for _, c := range cases {
		obj, now, err := decode(statusCase{Manifest: c.Manifest})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		for i, p := range profiles {
			out[i] = append(out[i], p.verdict(c, obj.DeepCopy(), now))
		}
	}
	return out, nil
}

func (p profile) verdict(c healthCase, obj *unstructured.Unstructured, now time.Time) verdict {
	if p.unknown {
		obj.SetAPIVersion("unknown.test/v1")
	}
	return verdict{c, p.rules.Compute(obj, now), obj.GetDeletionTimestamp() != nil}
}

// countHealth counts the verdicts on objects that are not being deleted. It counts arguable cases
// separately.
func countHealth(verdicts []verdict) (sure, arguable score) {
	for _, v := range verdicts {
		switch {
		case v.deleted:
		case v.Arguable != "":
			arguable.add(v)
		default:
			sure.add(v)
		}
	}
	return sure, arguable
}

// scoreHealth prints for each profile and file
//
//	suite PROFILE/FILE exact/total lenient N falseCurrent N
//
// with the arguable cases behind it, if there are any, and the tables of scores. If verbose, the
// disagreements are printed too. Scores are no tests: another project's opinion decides nothing.
// Objects that are being deleted are not scored, because the other projects ignore that.
func scoreHealth(w io.Writer, dir, only string, verbose bool) error {
	rows, err := scoreRows(dir)
	if err != nil {
		return err
	}
	for _, r := range rows {
		for i, verdicts := range r.verdicts {
			if name := profiles[i].suite + "/" + r.name; strings.Contains(name, only) {
				printScore(w, name, verdicts, verbose)
			}
		}
	}
	if only != "" {
		return nil
	}
	_, err = fmt.Fprint(w, accuracyTables(rows))
	return err
}

func printScore(w io.Writer, name string, verdicts []verdict, verbose bool) {
	sure, arguable := countHealth(verdicts)
	fmt.Fprintf(w, "suite %s %s", name, sure.line())
	if arguable.total > 0 {
		fmt.Fprintf(w, "; arguable %s", arguable.line())
	}
	fmt.Fprintln(w)
	for _, v := range verdicts {
		if verbose && !v.deleted && v.got.Status != v.WantStatus {
			fmt.Fprintf(w, "DIFF %s %s: want %s (%s)%s, got %s\n", name, v.Name, v.WantStatus, v.WantHealth, v.remarks(), v.got)
		}
	}
}

func (s score) line() string {
	return fmt.Sprintf("%d/%d lenient %d falseCurrent %d", s.exact, s.total, s.lenient, s.falseCurrent)
}

func (v verdict) remarks() string {
	out := ""
	if v.NotCurrent {
		out = ", or anything but Current"
	}
	if v.Arguable != "" {
		out += ", arguable: " + v.Arguable
	}
	return out
}
