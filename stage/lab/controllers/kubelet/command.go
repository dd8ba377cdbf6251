package kubelet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A Program is what a container does by itself. A program that gets a signal before its end is
// killed at the end of its grace period, as sleep is.
type Program struct {
	// Runs is for how long it runs, rounded up to whole seconds.
	Runs time.Duration
	// ExitCode is the exit code at that end.
	ExitCode int
}

// A program is what a container does by itself. The zero value runs until it is stopped, and ends
// as soon as the kubelet stops it.
type program struct {
	known   bool          // the command says how long it runs
	runs    time.Duration // how long
	code    int64         // with which exit code it ends then
	guessed bool          // the command does not say it: the container ends as soon as the kubelet stops it
	prints  []Printed     // what it prints, if it is known
}

// programOf reads the command of a container, if it is sleep N, exit N, true, false or echo WORDS, or
// sh -c with such commands.
func programOf(spec map[string]any) program {
	words := commandOf(spec)
	if len(words) == 3 && isShell(words[0]) && words[1] == "-c" {
		return parseScript(words[2])
	}
	p, _, ok := parseCommand(words)
	if !ok {
		return program{}
	}
	return p
}

// commandOf returns the command of a container and its arguments.
func commandOf(spec map[string]any) (words []string) {
	for _, v := range append(append([]any{}, fields.Slice(spec, "command")...), fields.Slice(spec, "args")...) {
		word, _ := v.(string)
		words = append(words, word)
	}
	return words
}

// program returns the program of a container in its present run. It comes from the annotation of
// the Pod, or else from Options.Program, or else from the command.
func (o Options) program(pod *unstructured.Unstructured, spec map[string]any, run int64) (program, error) {
	name := fields.String(spec, "name")
	key := CommandSuffix + name
	if script := fields.Annotation(pod, key); script != "" {
		p := parseScript(script)
		if !p.known {
			return p, fmt.Errorf("metadata.annotations[%s]: %q: want sleep N, exit N, true, false or echo WORDS, separated by ; or &&", key, script)
		}
		return p, nil
	}
	if o.Program != nil {
		if p, ok := o.Program(pod, name, int(run)); ok {
			return program{known: true, runs: wholeSeconds(max(0, min(p.Runs, never))), code: int64(p.ExitCode)}, nil
		}
	}
	return programOf(spec), nil
}

// RunForEver returns the names of the containers of a Pod, without sidecars, that run until they are
// stopped.
func RunForEver(pod *unstructured.Unstructured, o Options) (names []string) {
	for _, spec := range fields.Maps(pod.Object, "spec", "containers") {
		if p, err := o.mainProgram(pod, spec, 0); err == nil && !p.known {
			names = append(names, fields.String(spec, "name"))
		}
	}
	return names
}

func isShell(word string) bool {
	word = baseName(word)
	return word == "sh" || word == "bash" || word == "ash"
}

func baseName(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// parseScript reads commands that are separated by ; && or lines. One that is not known makes the
// whole script unknown.
func parseScript(script string) program {
	all := program{known: true}
	script = strings.ReplaceAll(script, "&&", "\n&& ")
	for _, line := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		line, after := strings.CutPrefix(strings.TrimSpace(line), "&&")
		words := strings.Fields(line)
		if len(words) == 0 || after && all.code != 0 {
			continue
		}
		p, exits, ok := parseCommand(words)
		if !ok || len(p.prints) > 0 && strings.ContainsAny(line, shellCharacters) {
			return program{}
		}
		for _, printed := range p.prints {
			all.prints = append(all.prints, Printed{all.runs, printed.Text})
		}
		all.runs, all.code = all.runs+p.runs, p.code
		if exits {
			break
		}
	}
	return all
}

// parseCommand reads one command, and reports whether it ends its script.
func parseCommand(words []string) (p program, exits, ok bool) {
	if len(words) > 0 && baseName(words[0]) == "echo" {
		return parseEcho(words[1:])
	}
	if len(words) == 0 || len(words) > 2 {
		return program{}, false, false
	}
	arg := ""
	if len(words) == 2 {
		arg = words[1]
	}
	switch name := baseName(words[0]); {
	case name == "true" || name == "false":
		p.known = arg == ""
		if name == "false" {
			p.code = 1
		}
	case name == "exit":
		n, err := strconv.ParseUint("0"+arg, 10, 8)
		p.known, p.code, exits = err == nil, int64(n), true
	case name == "sleep":
		p.runs, p.known = parseSleep(arg)
	}
	return p, exits, p.known
}

// longestSleep is the least number that parseSleep does not take. So many days are within time.Duration.
const longestSleep = 1e5

// parseSleep reads the argument of sleep: a number, with a unit s, m, h or d.
func parseSleep(arg string) (time.Duration, bool) {
	unit := time.Second
	for suffix, d := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if number, ok := strings.CutSuffix(arg, suffix); ok {
			arg, unit = number, d
			break
		}
	}
	n, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(n >= 0 && n < longestSleep) {
		return 0, false
	}
	return wholeSeconds(time.Duration(n * float64(unit))), true
}

// wholeSeconds rounds up, because a status has no fractions of seconds.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
