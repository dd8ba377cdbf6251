package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A versionedServer is a server with the objects a, b and c of a kind, and its words for versions.
type versionedServer struct {
	config *rest.Config
	path   string            // of the objects
	values map[string]string // of NOW, THEN (a and b existed), FUTURE and TOKEN
}

// records are a kind whose history begins late: a kube-apiserver has no cache of them before they are
// defined.
const records = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: records.versions.example.com}
spec:
  group: versions.example.com
  names: {kind: Record, plural: records}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

const (
	configMapsOfVersions = "/api/v1/namespaces/versions/configmaps"
	recordsOfVersions    = "/apis/versions.example.com/v1/namespaces/versions/records"
)

// newVersionedServer creates the objects, after many writes of another one.
func newVersionedServer(t *testing.T, config *rest.Config, path, head string) *versionedServer {
	s := &versionedServer{config: config, path: path, values: map[string]string{}}
	object := func(name string) string { return `{` + head + `"metadata": {"name": "` + name + `"}}` }
	send(t, config, httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata": {"name": "versions"}}`})
	for range 20 {
		require.Equal(t, 201, send(t, config, httpRequest{Method: "POST", Path: path, Body: object("old")}).code)
		require.Equal(t, 200, send(t, config, httpRequest{Method: "DELETE", Path: path + "/old"}).code)
	}
	for _, name := range []string{"a", "b", "c"} {
		answer := send(t, config, httpRequest{Method: "POST", Path: path, Body: object(name)})
		require.Equal(t, 201, answer.code, "%s", answer.body)
		var obj metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal(answer.body, &obj))
		s.values["NOW"] = obj.ResourceVersion
		if name == "b" {
			s.values["THEN"] = obj.ResourceVersion
		}
	}
	s.values["FUTURE"] = s.values["NOW"] + "000"
	var list metav1.PartialObjectMetadataList
	require.NoError(t, json.Unmarshal(send(t, config, httpRequest{Path: path + "?limit=1"}).body, &list))
	require.NotEmpty(t, list.Continue)
	s.values["TOKEN"] = list.Continue
	return s
}

// combinations returns the queries of all combinations of parameters; "" leaves a parameter out.
func combinations(parameters map[string][]string) (all []url.Values) {
	all = []url.Values{{}}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		var next []url.Values
		for _, query := range all {
			for _, value := range parameters[name] {
				q := maps.Clone(query)
				if value != "" {
					q.Set(name, value)
				}
				next = append(next, q)
			}
		}
		all = next
	}
	return all
}

// versions are resourceVersions.
var versions = []string{"", "0", "00", "x", "-1", "+1", "1.5", "9223372036854775808", "18446744073709551616", "0THEN", "THEN", "NOW", "FUTURE"}

// TestVersionsOfRequests sends all combinations of parameters about versions to a kube-apiserver and to
// the server in memory, and compares codes, reasons, messages, items and events. The version 1 of
// records is compacted.
func TestVersionsOfRequests(t *testing.T) {
	c := memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true, History: 8})
	require.NoError(t, c.Load(t.Context(), []byte(records)))
	define(t, newCluster(t), records)
	config := apiserver.Start(t, c, apiserver.Options{Bare: true})
	matches := []string{"", "Exact", "NotOlderThan", "x"}
	for _, of := range []struct {
		path, head string
		versions   []string
	}{
		{configMapsOfVersions, "", versions},
		{recordsOfVersions, `"apiVersion": "versions.example.com/v1", "kind": "Record", `, append([]string{"1"}, versions...)},
	} {
		theirs, ours := newVersionedServer(t, plane.Config(), of.path, of.head), newVersionedServer(t, config, of.path, of.head)
		require.NoError(t, plane.Compact())
		for name, parameters := range map[string]map[string][]string{
			"/a": {"resourceVersion": of.versions, "resourceVersionMatch": matches},
			"":   {"resourceVersion": of.versions, "resourceVersionMatch": matches, "limit": {"", "1", "-1", "x"}, "continue": {"", "x", "TOKEN"}},
			"?watch": {"watch": {"1"}, "timeoutSeconds": {"1"}, "resourceVersion": of.versions, "resourceVersionMatch": matches, "limit": {"", "1"},
				"continue": {"", "x"}, "sendInitialEvents": {"", "true", "false"}, "allowWatchBookmarks": {"", "true"}},
		} {
			path := strings.TrimSuffix(of.path+name, "?watch")
			t.Run(of.path+name, func(t *testing.T) { compareVersions(t, theirs, ours, path, combinations(parameters)) })
		}
	}
}

// compareVersions sends many requests at once: a kube-apiserver waits three seconds for a version that
// it does not have, and a watch takes a second.
func compareVersions(t *testing.T, theirs, ours *versionedServer, path string, queries []url.Values) {
	var all sync.WaitGroup
	slots := make(chan struct{}, 48)
	for _, query := range queries {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if want, got := theirs.answerTo(t, path, query), ours.answerTo(t, path, query); want != got {
				t.Errorf("%s?%s\n  kube-apiserver: %s\n  ours:           %s", path, query.Encode(), want, got)
			}
		})
	}
	all.Wait()
}

// answerTo returns what can be compared of an answer.
func (s *versionedServer) answerTo(t *testing.T, path string, query url.Values) string {
	text := query.Encode()
	for word, value := range s.values {
		text = strings.ReplaceAll(text, word, url.QueryEscape(value))
	}
	answer := send(t, s.config, httpRequest{Path: path + "?" + text})
	lines := bufio.NewScanner(bytes.NewReader(answer.body))
	lines.Buffer(nil, 1<<20)
	parts := []string{fmt.Sprint(answer.code)}
	for lines.Scan() {
		if part := s.comparable(t, lines.Bytes()); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// comparable returns the parts of an object, a list, a Status or an event that servers have in common.
func (s *versionedServer) comparable(t *testing.T, data []byte) string {
	var answer struct {
		Type     string
		Object   json.RawMessage
		Kind     string
		Metadata struct {
			metav1.ObjectMeta
			Continue           string
			RemainingItemCount *int64
		}
		Items   []metav1.PartialObjectMetadata
		Reason  string
		Message string
		Code    int
		Details *metav1.StatusDetails
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return string(data)
	}
	m := answer.Metadata
	switch {
	case answer.Type == "BOOKMARK" && !bytes.Contains(data, []byte(metav1.InitialEventsAnnotationKey)):
		return "" // it may come at any time
	case answer.Type != "":
		return answer.Type + " " + s.comparable(t, answer.Object)
	case answer.Kind == "Status":
		details, err := json.Marshal(answer.Details)
		require.NoError(t, err)
		return s.withoutNumbers(fmt.Sprint(answer.Code, " ", answer.Reason, " ", answer.Message, " ", string(details)))
	case answer.Kind == "ConfigMap", answer.Kind == "Record":
		return m.Name
	}
	var names []string
	for _, item := range answer.Items {
		names = append(names, item.Name)
	}
	left := int64(0)
	if m.RemainingItemCount != nil {
		left = *m.RemainingItemCount
	}
	return fmt.Sprint(names, " of the past: ", m.ResourceVersion == s.values["THEN"], ", goes on: ", m.Continue != "", ", left: ", left)
}

// number is a version in a message, and currentVersion that of a server.
var (
	number         = regexp.MustCompile(`[0-9]+`)
	currentVersion = regexp.MustCompile(`(current: |\()[0-9]+`)
)

// withoutNumbers replaces the versions of a server in a message by their words.
func (s *versionedServer) withoutNumbers(message string) string {
	message = number.ReplaceAllStringFunc(message, func(digits string) string {
		for word, value := range s.values {
			if strings.TrimLeft(digits, "0") == value {
				return strings.Replace(digits, value, word, 1)
			}
		}
		return digits
	})
	return currentVersion.ReplaceAllString(strings.ReplaceAll(message, "current: NOW", "current: 0"), "${1}VERSION")
}
