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
var own = map[string]func(r *run) any{
	"Quote":          func(r *run) any { return r.quote },
	"YAML":           func(r *run) any { return r.yaml },
	"Now":            func(r *run) any { return r.now },
	"StartTime":      func(r *run) any { return r.startTime },
	"Version":        func(r *run) any { return func() string { return r.options.Version } },
	"NodeConditions": func(r *run) any { return r.nodeConditions },
	"NodeIP":         func(r *run) any { return func() (string, error) { return r.nodeIP("") } },
	"NodeName":       func(r *run) any { return func() string { return r.in.Env.Node("").Name } },
	"NodePort":       func(r *run) any { return func() int { return r.in.Env.Node("").Port } },
	"NodeIPWith":     func(r *run) any { return r.nodeIP },
	"NodeIPsWith":    func(r *run) any { return r.nodeIPs },
	"PodIP":          func(r *run) any { return r.podIP },
	"PodIPWith":      func(r *run) any { return r.podIPWith },
	"PodIPsWith":     func(r *run) any { return r.podIPsWith },
	"printf":         func(r *run) any { return r.printf },
}

// known reports whether a template may name the function.
func (t *Template) known(name string) bool {
	_, user := t.options.Funcs[name]
	return user || own[name] != nil || seeded[name] != nil || pure()[name] != nil || builtins[name]
}

// function is the function of that name bound to r; nil leaves it to text/template.
func (t *Template) function(r *run, name string) any {
	if fn, ok := t.options.Funcs[name]; ok {
		return fn
	}
	if fn := own[name]; fn != nil {
		return fn(r)
	}
	if fn := seeded[name]; fn != nil {
		return r.metered(name, fn(r))
	}
	if fn := pure()[name]; fn != nil {
		return r.metered(name, fn)
	}
	return nil
}

// builtins are the functions of text/template whose results are never larger than what they are given.
var builtins = names(`and call eq ge gt index le len lt ne not or`)

// quote makes a JSON string: of a string itself, of other values their JSON text.
func (r *run) quote(v any) (string, error) {
	if err := r.weigh(v, 0); err != nil {
		return "", err
	}
	if s, ok := v.(string); ok && object.IsPlain(s) {
		return `"` + s + `"`, nil
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

// yaml writes v as YAML. One indent above 0 puts every line, with a line break in front, below so many levels of two
// spaces; any other number of indents leaves it at none.
func (r *run) yaml(v any, indent ...any) (string, error) {
	if err := r.weigh(v, 0); err != nil {
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
	if err := r.spendText(float64(strings.Count(text, "\n")) * 2 * float64(n)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 2*n)), nil
}

func (r *run) now() string { return r.in.Now.UTC().Format(time.RFC3339Nano) }

func (r *run) startTime() string { return r.options.StartTime.UTC().Format(time.RFC3339Nano) }

func (r *run) printf(format string, args ...any) (string, error) {
	before := r.left
	if err := r.weighAll(args); err != nil {
		return "", err
	}
	if err := r.spend(formatCost(format, args, before-r.left)); err != nil {
		return "", err
	}
	s := fmt.Sprintf(format, args...)
	return s, r.spendText(float64(len(s)))
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
func (r *run) nodeConditions() ([]any, error) {
	var list []any
	for _, c := range conditions {
		list = append(list, maps.Clone(c))
	}
	return list, r.spend(float64(len(list)))
}

func (r *run) nodeIP(node string) (string, error) { return first(r.nodeIPs(node)) }

func (r *run) nodeIPs(node string) ([]string, error) {
	return r.in.Env.Node(node).IPs, r.spend(envSteps)
}

// podIP is the address of the pod that is rendered.
func (r *run) podIP() (string, error) { return first(r.podIPs(podOf(r.in.Object))) }

func (r *run) podIPWith(node string, hostNetwork bool, uid, name, namespace string) (string, error) {
	return first(r.podIPsWith(node, hostNetwork, uid, name, namespace))
}

func (r *run) podIPsWith(node string, hostNetwork bool, uid, name, namespace string) ([]string, error) {
	return r.podIPs(Pod{Node: node, HostNetwork: hostNetwork, UID: uid, Name: name, Namespace: namespace})
}

// podIPs takes a pod without a name for the one that is rendered.
func (r *run) podIPs(p Pod) ([]string, error) {
	if p.UID == "" && p.Name == "" {
		self := podOf(r.in.Object)
		p.UID, p.Name, p.Namespace = self.UID, self.Name, self.Namespace
	}
	if err := r.spend(envSteps); err != nil {
		return nil, err
	}
	return r.in.Env.PodIPs(p)
}

func first(list []string, err error) (string, error) {
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}
