package openb

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

// Published says where the files are published.
const Published = "https://github.com/hkust-adsl/kubernetes-scheduler-simulator (commit 8f3d641): data/csv and experiments/analysis/expected_results"

// device is the capacity of a GPU.
const device = 1000

// A Node is a line of openb_node_list_gpu_node.csv.
type Node struct {
	Name, Model  string
	CPU, Memory  int // in thousandths of a core, and in MiB
	DeviceNumber int
}

// A Request has the resources that a Pod asks for.
type Request struct {
	CPU, Memory  int
	DeviceNumber int
	Share        int    // of each device: 1 to 1000; 0 without devices
	Models       string // of GPUs that will do, with | between; "" for any
}

// A Pod is a line of openb_pod_list_default.csv.
type Pod struct {
	Name string
	Request
}

// A Trace is the nodes and Pods of the experiment, each in the order of their names.
type Trace struct {
	Nodes []Node
	Pods  []Pod
}

// Read reads a trace from the files of a folder, or of a clone of the repository in which they are
// published.
func Read(folder string) (*Trace, error) {
	nodes, err := readFile(folder, "data/csv", "openb_node_list_gpu_node.csv", load.Columns{
		Untimed: true, Numbers: []string{"cpu_milli", "memory_mib", "gpu"},
	})
	if err != nil {
		return nil, err
	}
	pods, err := readFile(folder, "data/csv", "openb_pod_list_default.csv", load.Columns{
		At: "creation_time", Times: []string{"deletion_time", "scheduled_time"},
		Numbers: []string{"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"},
	})
	if err != nil {
		return nil, err
	}
	return newTrace(nodes, pods)
}

// readFile reads a table in a folder, in its folder openb, or in another folder of it.
func readFile(folder, in, name string, c load.Columns) ([]load.Row, error) {
	f, err := os.Open(filepath.Join(folder, name))
	for _, in := range []string{"openb", in} {
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.Open(filepath.Join(folder, in, name))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; want a folder with the files that are published at %s", err, Published)
	}
	defer f.Close() //nolint:errcheck // it is only read
	return load.ReadCSV(f.Name(), f, c)
}

func newTrace(nodes, pods []load.Row) (*Trace, error) {
	t := &Trace{}
	var faults []error
	for _, r := range nodes {
		n := Node{r.Text["sn"], r.Text["model"], int(r.Numbers["cpu_milli"]), int(r.Numbers["memory_mib"]), int(r.Numbers["gpu"])}
		if n.DeviceNumber < 1 || n.DeviceNumber > 8 {
			faults = append(faults, fmt.Errorf("line %d: node %q has %d GPUs: want 1 to 8", r.Line, n.Name, n.DeviceNumber))
		}
		t.Nodes = append(t.Nodes, n)
	}
	for _, r := range pods {
		p := Pod{r.Text["name"], Request{
			int(r.Numbers["cpu_milli"]), int(r.Numbers["memory_mib"]),
			int(r.Numbers["num_gpu"]), int(r.Numbers["gpu_milli"]), r.Text["gpu_spec"],
		}}
		if !p.valid() {
			faults = append(faults, fmt.Errorf("line %d: Pod %q asks for %d GPUs of %d thousandths", r.Line, p.Name, p.DeviceNumber, p.Share))
		}
		t.Pods = append(t.Pods, p)
	}
	if len(t.Nodes) == 0 || len(t.Pods) == 0 {
		faults = append(faults, errors.New("want nodes and Pods"))
	}
	slices.SortFunc(t.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return t, errors.Join(faults...)
}

// valid reports whether a Pod asks for no device, a share of one, or whole ones.
func (r Request) valid() bool {
	switch r.DeviceNumber {
	case 0:
		return r.Share == 0
	case 1:
		return 0 < r.Share && r.Share <= device
	}
	return 0 < r.DeviceNumber && r.DeviceNumber <= 8 && r.Share == device
}

// shared reports whether a Pod asks for a share of a device.
func (r Request) shared() bool { return r.DeviceNumber == 1 && r.Share < device }

// takes reports whether GPUs of a model will do.
func (r Request) takes(model string) bool {
	return r.Models == "" || slices.Contains(strings.Split(r.Models, "|"), model)
}

// devices returns the capacity of all GPUs.
func (t *Trace) devices() (sum int) {
	for _, n := range t.Nodes {
		sum += device * n.DeviceNumber
	}
	return sum
}
