package e2e_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestMetricNames checks that each metric of the server in memory is one of kube-apiserver, with the
// same type, help and labels.
func TestMetricNames(t *testing.T) {
	ours := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
	for _, path := range []string{"/metrics", "/metrics/slis"} {
		for _, config := range []*rest.Config{ours, plane.Config()} { // kube-apiserver shows a check once it was asked
			send(t, config, httpRequest{Path: "/api/v1/namespaces"})
			for _, check := range []string{"/healthz", "/livez", "/readyz"} {
				send(t, config, httpRequest{Path: check})
			}
		}
		theirs, got := send(t, plane.Config(), httpRequest{Path: path}), send(t, ours, httpRequest{Path: path})
		require.Equal(t, theirs.code, got.code, path)
		require.Equal(t, mediaType(t, theirs), mediaType(t, got), path)
		there, here := metricsOf(theirs), metricsOf(got)
		require.NotEmpty(t, here, path)
		for name, about := range here {
			require.Equal(t, there[name], about, "%s %s", path, name)
		}
	}
}

func mediaType(t *testing.T, a httpAnswer) string {
	kind, _, _ := strings.Cut(a.mediaType, ";")
	require.NotEmpty(t, kind)
	return kind
}

var (
	metricHead  = regexp.MustCompile(`(?m)^# (HELP|TYPE) (\S+) (.*)$`)
	metricLabel = regexp.MustCompile(`(?m)^(\w+)\{([^}]*)\}`)
	labelName   = regexp.MustCompile(`(\w+)="`)
)

// metricsOf returns the help, the type and the names of the labels of each metric.
func metricsOf(a httpAnswer) map[string][]string {
	found := map[string][]string{}
	for _, m := range metricHead.FindAllStringSubmatch(string(a.body), -1) {
		found[m[2]] = append(found[m[2]], m[1]+" "+m[3])
	}
	labels := map[string]map[string]bool{}
	for _, m := range metricLabel.FindAllStringSubmatch(string(a.body), -1) {
		if _, known := found[m[1]]; !known {
			continue // a part of a histogram
		}
		if labels[m[1]] == nil {
			labels[m[1]] = map[string]bool{}
		}
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			labels[m[1]][l[1]] = true
		}
	}
	for name, all := range labels {
		found[name] = append(found[name], slices.Sorted(maps.Keys(all))...)
	}
	return found
}

// TestIssuer compares what both servers publish about the tokens of ServiceAccounts. The issuer and
// the keys differ.
func TestIssuer(t *testing.T) {
	ours := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
	for _, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
		theirs, got := send(t, plane.Config(), httpRequest{Path: path}), send(t, ours, httpRequest{Path: path})
		require.Equal(t, http.StatusOK, theirs.code, path)
		require.Equal(t, theirs.code, got.code, path)
		require.Equal(t, theirs.mediaType, got.mediaType, path)
		require.Equal(t, shapeOf(t, theirs.body), shapeOf(t, got.body), path)
	}
}

// shapeOf returns the fields of a document, with the values that do not depend on the server.
func shapeOf(t *testing.T, text []byte) map[string]any {
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for _, name := range []string{"issuer", "jwks_uri"} {
		if fields[name] != nil {
			fields[name] = "a URL"
		}
	}
	keys, _ := fields["keys"].([]any)
	for _, k := range keys {
		key, _ := k.(map[string]any)
		for _, name := range []string{"kid", "n", "x", "y"} {
			if key[name] != nil {
				key[name] = "of the key"
			}
		}
	}
	return fields
}
