package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// own are the functions that read the state of the rendering and count their steps themselves.
var own = map[string]func(s *state) any{
	"Quote":          func(s *state) any { return s.quote },
	"YAML":           func(s *state) any { return s.yaml },
	"Now":            func(s *state) any { return s.now },
	"StartTime":      func(s *state) any { return s.startTime },
	"Version":        func(s *state) any { return func() string { return s.options.Version } },
	"NodeConditions": func(s *state) any { return s.nodeConditions },
	"NodeIP":         func(s *state) any { return func() string { return s.nodeIP("") } },
	"NodeName":       func(s *state) any { return func() string { return s.in.Env.Node("").Name } },
	"NodePort":       func(s *state) any { return func() int { return s.in.Env.Node("").Port } },
	"NodeIPWith":     func(s *state) any { return s.nodeIP },
	"NodeIPsWith":    func(s *state) any { return func(node string) []string { return slices.Clone(s.nodeIPs(node)) } },
	"PodIP":          func(s *state) any { return s.podIP },
	"PodIPWith":      func(s *state) any { return s.podIPWith },
	"PodIPsWith":     func(s *state) any { return s.podIPsWith },
	"printf":         func(s *state) any { return s.printf },
}

// known reports whether a template may name the function.
func (t *Template) known(name string) bool {
	_, user := t.options.Funcs[name]
	return user || own[name] != nil || seeded[name] != nil || pure()[name] != nil || builtins[name]
}

// function is the function of that name bound to s; nil leaves it to text/template.
func (t *Template) function(s *state, name string) any {
	if fn, ok := t.options.Funcs[name]; ok {
		return fn
	}
	if fn := own[name]; fn != nil {
		return fn(s)
	}
	if fn := seeded[name]; fn != nil {
		return s.metered(name, fn(s))
	}
	if fn := pure()[name]; fn != nil {
		return s.metered(name, fn)
	}
	return nil
}

// builtins are the functions of text/template whose results are never larger than their arguments.
var builtins = names(`and call eq ge gt index le len lt ne not or`)

// quote makes a JSON string of a string, or of the JSON text of another value.
func (s *state) quote(v any) string {
	s.weigh(v, 0)
	if text, ok := v.(string); ok && object.IsPlain(text) {
		return `"` + text + `"`
	}
	data, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	if data[0] == '"' {
		return string(data)
	}
	return strconv.Quote(string(data))
}

// yamlRate is how much more a value takes as YAML than as JSON, by which all others are weighed.
const yamlRate = 4

// yaml writes v as YAML. One indent n above 0 puts a line break in front and indents every line by
// 2n spaces. Any other number of indents does not indent the lines.
func (s *state) yaml(v any, indent ...any) (string, error) {
	before := s.left
	s.weigh(v, 0)
	s.spend(yamlRate * (before - s.left))
	data, err := marshalYAML(v)
	if err != nil || len(indent) != 1 {
		return string(data), err
	}
	n, err := whole(indent[0])
	if err != nil || n <= 0 {
		return string(data), err
	}
	text := "\n" + string(data)
	s.spendText(float64(strings.Count(text, "\n")) * 2 * float64(n))
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 2*n)), nil
}

func (s *state) now() string { return s.in.Now.UTC().Format(time.RFC3339Nano) }

func (s *state) startTime() string { return s.options.StartTime.UTC().Format(time.RFC3339Nano) }

func (s *state) printf(format string, args ...any) string {
	before := s.left
	for _, arg := range args {
		s.weigh(arg, 0)
	}
	s.spend(formatCost(format, args, before-s.left))
	text := fmt.Sprintf(format, args...)
	s.spendText(float64(len(text)))
	return text
}

// conditions of a healthy node, as the kubelet words them.
var conditions = []map[string]any{
	condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
	condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
	condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
	condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
	condition("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
}

func condition(kind, status, reason, message string) map[string]any {
	return map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastHeartbeatTime": nil, "lastTransitionTime": nil,
	}
}

// nodeConditions returns a copy if a function of the template might change it.
func (s *state) nodeConditions() []any {
	s.spend(float64(len(conditions)))
	if !s.template.mutates && len(s.options.Funcs) == 0 {
		return sharedConditions
	}
	return copyOfConditions()
}

var sharedConditions = copyOfConditions()

func copyOfConditions() (list []any) {
	for _, c := range conditions {
		list = append(list, maps.Clone(c))
	}
	return list
}

func (s *state) nodeIP(node string) string { return first(s.nodeIPs(node)) }

func (s *state) nodeIPs(node string) []string {
	s.spend(envSteps)
	s.spendText(float64(len(node)))
	return s.in.Env.Node(node).IPs
}

// podIP is the address of the pod that is rendered.
func (s *state) podIP() string { return first(s.podIPs(podOf(s.in.Object))) }

func (s *state) podIPWith(node string, hostNetwork bool, uid, name, namespace string) string {
	return first(s.podIPs(Pod{node, hostNetwork, uid, name, namespace}))
}

// podIPsWith returns a copy, because sortAlpha sorts a list in place.
func (s *state) podIPsWith(node string, hostNetwork bool, uid, name, namespace string) []string {
	return slices.Clone(s.podIPs(Pod{node, hostNetwork, uid, name, namespace}))
}

// podIPs treats a pod without a name as the rendered pod.
func (s *state) podIPs(p Pod) []string {
	if p.UID == "" && p.Name == "" {
		self := podOf(s.in.Object)
		p.UID, p.Name, p.Namespace = self.UID, self.Name, self.Namespace
	}
	s.spend(envSteps)
	s.spendText(float64(len(p.Node) + len(p.UID) + len(p.Name) + len(p.Namespace)))
	return certain(s.in.Env.PodIPs(p))
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
