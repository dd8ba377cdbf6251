package kwok

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The types have the fields of kwok's API, and no others.

type object[Spec any] struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Spec       Spec           `json:"spec"`
	Status     map[string]any `json:"status"`
}

type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	CreationTimestamp string            `json:"creationTimestamp"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	Generation        int64             `json:"generation"`
}

// A selector is that of a cluster-wide kind.
type selector struct {
	MatchNamespaces []string `json:"matchNamespaces"`
	MatchNames      []string `json:"matchNames"`
}

type logsSpec struct {
	Selector *selector `json:"selector"`
	Logs     []logs    `json:"logs"`
}

type logs struct {
	Containers       []string `json:"containers"`
	LogsFile         *string  `json:"logsFile"`
	PreviousLogsFile *string  `json:"previousLogsFile"`
	Follow           *bool    `json:"follow"`
}

type execSpec struct {
	Selector *selector `json:"selector"`
	Execs    []exec    `json:"execs"`
}

type exec struct {
	Containers []string `json:"containers"`
	Local      *local   `json:"local"`
}

type local struct {
	WorkDir string `json:"workDir"`
	Envs    []env  `json:"envs"`
}

type env struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type attachSpec struct {
	Selector *selector `json:"selector"`
	Attaches []attach  `json:"attaches"`
}

type attach struct {
	Containers []string `json:"containers"`
	LogsFile   *string  `json:"logsFile"`
}

type forwardSpec struct {
	Selector *selector `json:"selector"`
	Forwards []forward `json:"forwards"`
}

type forward struct {
	Ports   []int32  `json:"ports"`
	Target  *target  `json:"target"`
	Command []string `json:"command"`
}

type target struct {
	Port    int32  `json:"port"`
	Address string `json:"address"`
}

type usageSpec struct {
	Selector *selector `json:"selector"`
	Usages   []usage   `json:"usages"`
}

type usage struct {
	Containers []string         `json:"containers"`
	Usage      map[string]value `json:"usage"`
}

type value struct {
	Value      *resource.Quantity `json:"value"`
	Expression *string            `json:"expression"`

	program *program // of the expression
	where   string   // file:line:column: path of the expression, for errors
}

type metricSpec struct {
	Path    string   `json:"path"`
	Metrics []metric `json:"metrics"`
}

type metric struct {
	Name      string   `json:"name"`
	Help      string   `json:"help"`
	Kind      string   `json:"kind"`
	Dimension string   `json:"dimension"`
	Labels    []label  `json:"labels"`
	Value     string   `json:"value"`
	Buckets   []bucket `json:"buckets"`

	program *program // of the value
	desc    *prometheus.Desc
}

type label struct {
	Name  string `json:"name"`
	Value string `json:"value"`

	program *program
}

type bucket struct {
	Le     float64 `json:"le"`
	Value  string  `json:"value"`
	Hidden bool    `json:"hidden"`

	program *program
}
