package render

import (
	"encoding/json"
	"fmt"
	"maps"
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
	"NodeIP":         func(s *state) any { return func() (string, error) { return s.nodeIP("") } },
	"NodeName":       func(s *state) any { return func() string { return s.in.Env.Node("").Name } },
	"NodePort":       func(s *state) any { return func() int { return s.in.Env.Node("").Port } },
	"NodeIPWith":     func(s *state) any { return s.nodeIP },
	"NodeIPsWith":    func(s *state) any { return s.nodeIPs },
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

// builtins are the functions of text/template whose results are never larger than what they are
// given.
var builtins = names(`and call eq ge gt index le len lt ne not or`)

// quote makes a JSON string: of a string itself, of other values their JSON text.
func (s *state) quote(v any) (string, error) {
	if err := s.weigh(v, 0); err != nil {
		return "", err
	}
	if text, ok := v.(string); ok && object.IsPlain(text) {
		return `"` + text + `"`, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v)), nil
	}
	if data[0] == '"' {
		return string(data), nil
	}
	return strconv.Quote(string(data)), nil
}

// yaml writes v as YAML. One indent above 0 puts every line, with a line break in front, below so
// many levels of two spaces; any other number of indents leaves it at none.
func (s *state) yaml(v any, indent ...any) (string, error) {
	if err := s.weigh(v, 0); err != nil {
		return "", err
	}
	data, err := marshalYAML(v)
	if err != nil || len(indent) != 1 {
		return string(data), err
	}
	n, err := whole(indent[0])
	if err != nil || n <= 0 {
		return string(data), err
	}
	text := "\n" + string(data)
	if err := s.spendText(float64(strings.Count(text, "\n")) * 2 * float64(n)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 2*n)), nil
}

func (s *state) now() string { return s.in.Now.UTC().Format(time.RFC3339Nano) }

func (s *state) startTime() string { return s.options.StartTime.UTC().Format(time.RFC3339Nano) }

func (s *state) printf(format string, args ...any) (string, error) {
	before := s.left
	for _, arg := range args {
		if err := s.weigh(arg, 0); err != nil {
			return "", err
		}
	}
	if err := s.spend(formatCost(format, args, before-s.left)); err != nil {
		return "", err
	}
	text := fmt.Sprintf(format, args...)
	return text, s.spendText(float64(len(text)))
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

// nodeConditions are the template's own: it may change them.
func (s *state) nodeConditions() ([]any, error) {
	var list []any
	for _, c := range conditions {
		list = append(list, maps.Clone(c))
	}
	return list, s.spend(float64(len(list)))
}

func (s *state) nodeIP(node string) (string, error) { return first(s.nodeIPs(node)) }

func (s *state) nodeIPs(node string) ([]string, error) {
	return s.in.Env.Node(node).IPs, s.spend(envSteps)
}

// podIP is the address of the pod that is rendered.
func (s *state) podIP() (string, error) { return first(s.podIPs(podOf(s.in.Object))) }

func (s *state) podIPWith(node string, hostNetwork bool, uid, name, namespace string) (string, error) {
	return first(s.podIPsWith(node, hostNetwork, uid, name, namespace))
}

func (s *state) podIPsWith(node string, hostNetwork bool, uid, name, namespace string) ([]string, error) {
	return s.podIPs(Pod{Node: node, HostNetwork: hostNetwork, UID: uid, Name: name, Namespace: namespace})
}

// podIPs takes a pod without a name for the one that is rendered.
func (s *state) podIPs(p Pod) ([]string, error) {
	if p.UID == "" && p.Name == "" {
		self := podOf(s.in.Object)
		p.UID, p.Name, p.Namespace = self.UID, self.Name, self.Namespace
	}
	if err := s.spend(envSteps); err != nil {
		return nil, err
	}
	return s.in.Env.PodIPs(p)
}

func first(list []string, err error) (string, error) {
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}
