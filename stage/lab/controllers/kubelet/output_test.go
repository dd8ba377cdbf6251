package kubelet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
)

// TestOutput: known commands print what they say, and others are not guessed.
func TestOutput(t *testing.T) {
	for command, want := range map[string]string{
		`[echo, hi, there]`: "[{0s hi there}] true",
		`[echo, "$HOME"]`:   "[{0s $HOME}] true", // no shell reads it
		`[echo]`:            "[{0s }] true",
		`["echo", "a\nb"]`:  "[{0s a} {0s b}] true",
		`[sh, -c, "echo a; sleep 5 && echo b c; exit 1; echo d"]`: "[{0s a} {5s b c}] true",
		`[sh, -c, "echo $HOME"]`:                                  "[] false",
		`[sh, -c, "echo a > file"]`:                               "[] false",
		`[echo, -n, hi]`:                                          "[] false",
		`[sleep, "5"]`:                                            "[] true",
		`[migrate]`:                                               "[] false",
	} {
		lines, known := kubelet.Output(parse(t, "restartPolicy: Never, containers: [{name: a, image: i, command: "+command+"}]", ""), "a", 0, kubelet.Options{})
		require.Equal(t, want, fmt.Sprint(lines, known), command)
	}
	replaced := kubelet.Options{Program: func(*unstructured.Unstructured, string, int) (kubelet.Program, bool) {
		return kubelet.Program{Runs: time.Second}, true
	}}
	_, known := kubelet.Output(parse(t, "containers: [{name: a, image: i, command: [echo, hi]}]", ""), "a", 0, replaced)
	require.False(t, known)
}
