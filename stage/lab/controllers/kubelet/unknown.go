package kubelet

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// moment is how long a container runs whose command is not known, if it ends at all.
const moment = time.Second

// mainProgram returns the program of a container that is not an init container, in its present run.
// If its command is unknown, the container ends after a moment, or runs until it is stopped.
func (o Options) mainProgram(pod *unstructured.Unstructured, spec map[string]any, run int64) (program, error) {
	p, err := o.program(pod, spec, run)
	if err == nil && !p.known && !o.RunUnknown && endsSoon(pod, spec) {
		p = program{known: true, runs: moment, guessed: true}
	}
	return p, err
}

// endsSoon reports whether a container with an unknown program ends after a moment. It does if its
// Pod is meant to end, unless its command runs forever by its nature. A container without a command
// runs the program of its image, which is meant to end only in a Job.
func endsSoon(pod *unstructured.Unstructured, spec map[string]any) bool {
	words := commandOf(spec)
	switch policy := fields.String(pod.Object, "spec", "restartPolicy"); {
	case policy != "Never" && policy != "OnFailure":
		return false
	case len(words) == 0:
		return isOfJob(pod) && !isPause(fields.String(spec, "image"))
	}
	return !runsForEver(words)
}

// isOfJob reports whether a Job owns a Pod, as kwok's Stage pod-complete finds out.
func isOfJob(pod *unstructured.Unstructured) bool {
	return slices.ContainsFunc(fields.Maps(pod.Object, "metadata", "ownerReferences"), func(ref map[string]any) bool {
		return fields.String(ref, "kind") == "Job"
	})
}

// isPause reports whether an image is the pause image, whose container only waits.
func isPause(image string) bool {
	name, _, _ := strings.Cut(baseName(image), ":")
	name, _, _ = strings.Cut(name, "@")
	return name == "pause"
}

// runsForEver reports whether a command runs forever by its nature: pause, sleep infinity or a very
// long time, tail -f, an endless loop of a shell, or a script with one of these.
func runsForEver(words []string) bool {
	for len(words) > 0 && isWrapper(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	if isShell(words[0]) {
		return slices.ContainsFunc(words[1:], scriptRunsForEver)
	}
	args := words[1:]
	switch baseName(words[0]) {
	case "pause":
		return true
	case "sleep":
		return slices.ContainsFunc(args, isVeryLong)
	case "tail":
		return slices.ContainsFunc(args, followsFile)
	case "while":
		return len(args) > 0 && (args[0] == "true" || args[0] == ":" || args[0] == "sleep")
	case "until":
		return len(args) > 0 && args[0] == "false"
	}
	return false
}

// isWrapper reports whether a word only starts the command that follows it.
func isWrapper(word string) bool {
	switch baseName(word) {
	case "exec", "do", "then", "else", "tini", "dumb-init", "nohup", "--", "{", "(":
		return true
	}
	return false
}

// scriptRunsForEver reports whether one of the commands of a script runs forever.
func scriptRunsForEver(script string) bool {
	for _, command := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		if runsForEver(strings.Fields(command)) {
			return true
		}
	}
	return false
}

// isVeryLong reports whether an argument of sleep is infinity, or longer than parseSleep takes.
func isVeryLong(arg string) bool {
	n, err := strconv.ParseFloat(strings.TrimRight(arg, "smhd"), 64)
	return err == nil && n > 0 && !(n < longestSleep)
}

func followsFile(arg string) bool {
	return strings.HasPrefix(arg, "--follow") || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.ContainsAny(arg, "fF")
}
