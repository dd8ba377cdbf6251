package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A conversionCase is an entry of testdata/conversions.yaml.
type conversionCase struct {
	definitionCase
	Answers string   // what the webhook does, see liesOfConversions; "" converts; its port can be "closed"
	Reviews []string // conversionReviewVersions
}

// convertThing changes a Thing to another version: v1 has host, port and copies, v2 has address and
// replicas.
func convertThing(obj map[string]any, to string) {
	obj["apiVersion"] = to
	for _, field := range []string{"spec", "status"} {
		fields, _ := obj[field].(map[string]any)
		if fields == nil {
			continue
		}
		names := map[string]string{"copies": "replicas"}
		if strings.HasSuffix(to, "/v1") {
			names = map[string]string{"replicas": "copies"}
		}
		for from, into := range names {
			if v, has := fields[from]; has {
				fields[into] = v
				delete(fields, from)
			}
		}
		if address, has := fields["address"].(string); has && strings.HasSuffix(to, "/v1") {
			fields["host"], fields["port"], _ = strings.Cut(address, ":")
			delete(fields, "address")
			delete(fields, "tier")
		}
		if host, has := fields["host"]; has && strings.HasSuffix(to, "/v2") {
			fields["address"] = fmt.Sprint(host, ":", fields["port"])
			delete(fields, "host")
			delete(fields, "port")
		}
	}
}

// liesOfConversions change the answers of a conversion webhook.
var liesOfConversions = map[string]func(response map[string]any, first map[string]any){
	"/convert": func(map[string]any, map[string]any) {},
	"/uid":     func(response, _ map[string]any) { response["uid"] = "x" },
	"/no": func(response, _ map[string]any) {
		response["result"] = map[string]any{"status": "Failure", "message": "not this"}
	},
	"/silent":    func(response, _ map[string]any) { response["result"] = map[string]any{"status": "Failure"} },
	"/none":      func(response, _ map[string]any) { response["convertedObjects"] = []any{} },
	"/version":   func(_, first map[string]any) { first["apiVersion"] = "conversions.example.com/v9" },
	"/kind":      func(_, first map[string]any) { first["kind"] = "Other" },
	"/name":      func(_, first map[string]any) { metadataIn(first)["name"] = "other" },
	"/namespace": func(_, first map[string]any) { metadataIn(first)["namespace"] = "other" },
	"/object":    func(_, first map[string]any) { first["metadata"] = "none" },
	"/label":     func(_, first map[string]any) { metadataIn(first)["labels"] = map[string]any{"l": "/"} },
	"/number":    func(_, first map[string]any) { metadataIn(first)["labels"] = map[string]any{"l": 1} },
	"/invalid":   func(_, first map[string]any) { first["spec"] = map[string]any{"address": 1, "host": 1, "more": true} },
	"/undeclared": func(_, first map[string]any) {
		if spec, _ := first["spec"].(map[string]any); spec != nil {
			spec["more"] = true
		}
	},
	"/metadata": func(_, first map[string]any) {
		m := metadataIn(first)
		m["labels"], m["annotations"], m["finalizers"], m["generation"] = map[string]any{"l": "m"}, map[string]any{"a": "b"}, []any{"x.io/f"}, 9
	},
}

func metadataIn(obj map[string]any) map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	return metadata
}

// serveConversion is a conversion webhook.
func serveConversion(w http.ResponseWriter, r *http.Request) {
	lie := liesOfConversions[r.URL.Path]
	if lie == nil {
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	var review struct {
		APIVersion, Kind string
		Request          struct {
			UID, DesiredAPIVersion string
			Objects                []map[string]any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := map[string]any{"uid": review.Request.UID, "result": map[string]any{"status": "Success"}}
	converted := []any{}
	for _, obj := range review.Request.Objects {
		convertThing(obj, review.Request.DesiredAPIVersion)
		converted = append(converted, obj)
	}
	response["convertedObjects"] = converted
	lie(response, review.Request.Objects[0])
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

func conversionCases(t *testing.T) (cases []conversionCase) {
	data, err := os.ReadFile("testdata/conversions.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	return cases
}

// TestConversions has the same conversion webhook on loopback for a kube-apiserver and for the
// server in memory, and compares the answers.
func TestConversions(t *testing.T) {
	cases := conversionCases(t)
	server := httptest.NewTLSServer(http.HandlerFunc(serveConversion))
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), apiserver.Options{})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			url := server.URL + "/convert"
			switch c.Answers {
			case "":
			case "closed":
				url = "https://127.0.0.1:1/convert"
			default:
				url = server.URL + "/" + c.Answers
			}
			if c.Reviews == nil {
				c.Reviews = []string{"v1"}
			}
			c.conversion = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": c.Reviews, "clientConfig": map[string]any{"url": url, "caBundle": ca}}}
			c.compare(t, ours)
		})
	}
}

// compare sends the requests of a case to both servers.
func (c conversionCase) compare(t *testing.T, ours *rest.Config) {
	namespace := "conversions-" + strings.ReplaceAll(c.Name, " ", "-")
	for _, config := range []*rest.Config{plane.Config(), ours} {
		send(t, config, httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`})
		c.define(t, config)
	}
	for i := range c.Requests {
		r := c.request(t, i, namespace)
		got, theirs := "", "no answer"
		for end := time.Now().Add(3 * time.Second); got != theirs && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if theirs = send(t, plane.Config(), r).comparable(t, r.Compare); got == "" {
				got = send(t, ours, r).comparable(t, r.Compare)
			}
			if r.Method != http.MethodGet && !strings.Contains(theirs, `"kind":"Status"`) {
				break
			}
		}
		if got != theirs {
			t.Errorf("%d. %s %s %s\n  kube-apiserver: %s\n  ours:           %s", i, r.Method, r.Path, r.Body, theirs, got)
		}
	}
}
