package hostile_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definitions are definitions, some with an object of their kind.
func definitions() (all []attack) {
	long := strings.Repeat("a", 1_000_000)
	quoted := func(n int, form string) string {
		return repeated(n, func(i int) string { return fmt.Sprintf(form, i) })
	}
	for name, d := range map[string]struct{ schema, spec string }{
		"a pattern of 900 states":          {`{"type": "object", "properties": {"s": {"type": "string", "pattern": "((a{0,30}){0,30})+c"}}}`, `{"s": "` + long + `"}`},
		"patterns of 100,000 states":       {`{"type": "object", "properties": {"s": {"type": "string", "allOf": ` + quoted(100, `{"pattern": "(a{0,30}){0,30}b%d"}`) + `}}}`, `{"s": "` + long + `"}`},
		"a pattern of properties":          {`{"type": "object", "additionalProperties": {"type": "string", "pattern": "(a{0,30}){0,30}b"}}`, `{"a": "` + long + `"}`},
		"an enum of 20,000":                {`{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string", "enum": ` + quoted(20_000, `"v%d"`) + `}}}}`, `{"l": ` + quoted(20_000, `"v%d"`) + `}`},
		"50,000 faults":                    {`{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}}`, `{"l": ` + quoted(50_000, `"v%d"`) + `}`},
		"faults in anyOf":                  {`{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}, "anyOf": [{"items": {"pattern": "^b$"}}, {"minItems": 1}]}}}`, `{"l": ` + quoted(50_000, `"v%d"`) + `}`},
		"defaults that multiply":           {`{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"s": {"type": "string", "default": "` + long[:200_000] + `"}}}}}}`, `{"l": ` + quoted(100_000, `{}`[:2]+"%.0d") + `}`},
		"a set of 10,000":                  {`{"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}`, `{"l": ` + quoted(10_000, `"v%d"`) + `}`},
		"a map of 5,000":                   {`{"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"], "items": {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}}}`, `{"l": ` + quoted(5000, `{"a": "x", "b": "v%d"}`) + `}`},
		"a deep schema":                    {deepSchema(200), deep(200, false)},
		"a deeper schema":                  {deepSchema(2500), deep(100, false)},
		"a schema of itself":               {`{"$ref": "#"}`, `{}`},
		"2,000 properties":                 {`{"type": "object", "properties": {` + bare(quoted(2000, `"p%d": {"type": "string"}`)) + `}}`, `{}`},
		"40,000 properties":                {`{"type": "object", "properties": {` + bare(quoted(40_000, `"p%d": {"type": "string"}`)) + `}}`, `{}`},
		"oneOf of 5,000":                   {`{"type": "object", "oneOf": ` + quoted(5000, `{"required": ["p%d"]}`) + `}`, `{}`},
		"rules without bounds":             {`{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}, "x-kubernetes-validations": [{"rule": "self.l.all(a, self.l.all(b, self.l.all(c, a+b+c>=0)))"}]}`, `{}`},
		"rules that are squares":           {`{"type": "object", "properties": {"l": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}}}, "x-kubernetes-validations": [{"rule": "self.l.all(a, self.l.exists(b, b==a))"}]}`, `{"l": ` + quoted(1000, `%d`) + `}`},
		"a rule with a pattern":            {`{"type": "object", "properties": {"s": {"type": "string", "maxLength": 1000000}}, "x-kubernetes-validations": [{"rule": "!self.s.matches('((a{0,30}){0,30})+c')"}]}`, `{"s": "` + long + `"}`},
		"a rule with the object's pattern": {`{"type": "object", "properties": {"s": {"type": "string", "maxLength": 1000000}, "p": {"type": "string", "maxLength": 1000}}, "x-kubernetes-validations": [{"rule": "!self.s.matches(self.p)"}]}`, `{"s": "` + long + `", "p": "((a{0,30}){0,30})+c"}`},
		"a rule of 100 KB":                 {`{"type": "object", "x-kubernetes-validations": [{"rule": "` + strings.Repeat("true && ", 12_000) + `true"}]}`, `{}`},
		"a rule of brackets":               {`{"type": "object", "x-kubernetes-validations": [{"rule": "` + strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000) + `"}]}`, `{}`},
		"200 rules":                        {`{"type": "object", "properties": {"s": {"type": "string"}}, "x-kubernetes-validations": ` + quoted(200, `{"rule": "self.s != 'a%d'"}`) + `}`, `{"s": "b"}`},
		"unknown fields, many":             {`{"type": "object", "properties": {"a": {"type": "string"}}}`, members(100_000)},
		"unknown fields, deep":             {`{"type": "object", "properties": {"a": {"type": "string"}}}`, deep(5000, false)},
		"int-or-string, many":              {`{"type": "object", "properties": {"l": {"type": "array", "items": {"x-kubernetes-int-or-string": true}}}}`, `{"l": ` + quoted(30_000, `"v%d"`) + `}`},
		"embedded objects":                 {`{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}}`, `{"l": ` + quoted(5000, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p%d"}}`) + `}`},
	} {
		all = append(all, attack{"a definition with " + name, func(c *client) {
			c.post(crds, definitionOf("evil", d.schema))
			object := fmt.Sprintf(`{"apiVersion": "hostile.io/v1", "kind": "Evil", "metadata": {"name": "a"}, "spec": %s}`, d.spec)
			inParallel(2, func(int) { c.post("/apis/hostile.io/v1/namespaces/hostile/evils", object) })
			c.patch("/apis/hostile.io/v1/namespaces/hostile/evils/a?fieldManager=x&force=true", applyType, object)
			c.get("/apis/hostile.io/v1/namespaces/hostile/evils")
		}})
	}
	return append(sorted(all),
		attack{"60 definitions", func(c *client) {
			for i := range 60 {
				c.post(crds, definitionOf("evil"+string(rune('a'+i%26))+string(rune('a'+i/26)), `{"type": "object"}`))
			}
			c.get("/openapi/v2")
			c.get("/apis")
		}},
		attack{"a definition that changes", func(c *client) {
			c.post(crds, definitionOf("evil", `{"type": "object", "properties": {"a": {"type": "string"}}}`))
			for i := range 100 {
				c.post("/apis/hostile.io/v1/namespaces/hostile/evils", fmt.Sprintf(`{"apiVersion": "hostile.io/v1", "kind": "Evil", "metadata": {"name": "a%d"}, "spec": {}}`, i))
			}
			for i := range 3 {
				c.patch(crds+"/evils.hostile.io", patchType, fmt.Sprintf(`[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b%d", "value": {"type": "string", "default": "%s"}}]`, i, long[:300_000]))
				c.get("/apis/hostile.io/v1/namespaces/hostile/evils")
			}
		}},
		sends("a definition with 2,000 versions", request{method: "POST", path: crds, kind: jsonType, body: func() string {
			return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "evils.hostile.io"}, "spec": {"group": "hostile.io", "scope": "Namespaced", "names": {"plural": "evils", "kind": "Evil"}, "versions": ` +
				quoted(2000, `{"name": "v%d", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}`) + `}}`
		}}),
		sends("a definition with 10,000 columns", request{method: "POST", path: crds, kind: jsonType, body: func() string {
			return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "evils.hostile.io"}, "spec": {"group": "hostile.io", "scope": "Namespaced", "names": {"plural": "evils", "kind": "Evil"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
				"additionalPrinterColumns": ` + quoted(10_000, `{"name": "c%d", "type": "string", "jsonPath": ".spec..a..b..c..d"}`) + `}]}}`
		}}),
	)
}

func bare(list string) string { return list[1 : len(list)-1] }

func deepSchema(depth int) string {
	return strings.Repeat(`{"type": "object", "properties": {"a": `, depth) + `{"type": "integer"}` + strings.Repeat("}}", depth)
}

const (
	registration = "/apis/admissionregistration.k8s.io/v1/"
	onConfigMaps = `"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hostile"}}`
)

// policies are admission policies and webhooks, with a write that they are about.
func policies() (all []attack) {
	for name, expression := range map[string]string{
		"squares":              "!has(object.data) || !('l' in object.data) || object.data.l.split(',').all(a, object.data.l.split(',').size() >= 1)",
		"a huge pattern":       "!has(object.data) || !object.data.l.matches('((a{0,30}){0,30})+c')",
		"the object's pattern": "!has(object.data) || !object.data.l.matches(object.data.p)",
		"texts that double":    "['x'].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).size() == 1",
		"deep brackets":        strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000),
	} {
		all = append(all, attack{"policies with " + name, func(c *client) {
			for i := range 10 {
				c.post(registration+"validatingadmissionpolicies", fmt.Sprintf(`{"metadata": {"name": "p%d"}, "spec": {"failurePolicy": "Ignore", "matchConstraints": {%s}, "validations": [{"expression": %s}]}}`, i, onConfigMaps, asJSON(expression)))
				c.post(registration+"validatingadmissionpolicybindings", fmt.Sprintf(`{"metadata": {"name": "p%d"}, "spec": {"policyName": "p%d", "validationActions": ["Deny"]}}`, i, i))
			}
			data := asJSON(map[string]string{"l": strings.Repeat("a,", 100_000), "p": "((a{0,20}){0,20})+c"})
			inParallel(2, func(i int) { c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "p%d"}, "data": %s}`, i, data)) })
		}})
	}
	copies := repeated(40, func(i int) string { return fmt.Sprintf(`JSONPatch{op: "copy", from: "/data", path: "/data/k%d"}`, i) })
	for name, mutation := range map[string]string{
		"copies that double": `{"patchType": "JSONPatch", "jsonPatch": {"expression": ` + asJSON(copies) + `}}`,
		"long lists":         `{"patchType": "JSONPatch", "jsonPatch": {"expression": ` + asJSON(`object.data.l.split(",").map(x, JSONPatch{op: "add", path: "/metadata/annotations", value: {"a": x}})`) + `}}`,
		"large values":       `{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": ` + asJSON(`Object{data: Object.data{a: object.data.l + object.data.l + object.data.l}}`) + `}}`,
	} {
		all = append(all, attack{"a mutating policy with " + name, func(c *client) {
			c.post(registration+"mutatingadmissionpolicies", `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", "reinvocationPolicy": "IfNeeded", "matchConstraints": {`+onConfigMaps+`}, "mutations": [`+mutation+`]}}`)
			c.post(registration+"mutatingadmissionpolicybindings", `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "p"}, "spec": {"policyName": "p"}}`)
			c.post(configMaps, `{"metadata": {"name": "p"}, "data": {"l": "`+strings.Repeat("a,", 100_000)+`"}}`)
		}})
	}
	doubled := repeated(40, func(i int) string { return fmt.Sprintf(`{"op": "copy", "from": "/data", "path": "/data/k%d"}`, i) })
	for name, answers := range map[string]http.HandlerFunc{
		"that answers a bomb":   patching(doubled),
		"of a million inserts":  patching(repeated(200_000, same(`{"op": "add", "path": "/metadata/annotations", "value": {}}`))),
		"that answers garbage":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("{", 1<<20)) },
		"that answers for ever": endless,
		"that sends elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		},
	} {
		all = append(all, attack{"a webhook " + name, func(c *client) {
			s := httptest.NewTLSServer(answers)
			defer s.Close()
			c.post(registration+"mutatingwebhookconfigurations", webhookAt(s.URL))
			c.post(configMaps, `{"metadata": {"name": "w"}, "data": {"a": "`+strings.Repeat("x", 1000)+`"}}`)
		}})
	}
	return append(sorted(all), attack{"webhooks on other hosts", func(c *client) {
		for i, host := range []string{"https://192.0.2.1", "https://169.254.169.254/latest/meta-data", "https://example.com", "https://[::ffff:192.0.2.1]:1"} {
			c.post(registration+"mutatingwebhookconfigurations", strings.Replace(webhookAt(host), `"name": "w"`, fmt.Sprintf(`"name": "w%d"`, i), 1))
		}
		if a := c.post(configMaps, `{"metadata": {"name": "w"}}`); !strings.Contains(string(a.body), "only loopback is called") {
			c.t.Errorf("a webhook on another host: %d %s", a.code, a.body)
		}
	}})
}

// webhookAt returns a configuration. Its certificate is not checked by an authority: the server has
// none that the cluster knows, so it is called only if it is trusted by chance; the answer counts
// where it is.
func webhookAt(url string) string {
	return `{"metadata": {"name": "w"}, "webhooks": [{"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 2,
		"clientConfig": {"url": "` + url + `", "caBundle": "` + authority + `"}, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hostile"}},
		"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]}`
}

// authority is the certificate of servers of httptest, in base64.
var authority = func() string {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pem := "-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(s.Certificate().Raw) + "\n-----END CERTIFICATE-----\n"
	return base64.StdEncoding.EncodeToString([]byte(pem))
}()

// patching answers reviews with a patch.
func patching(patch string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		review, _ := io.ReadAll(r.Body)
		_, uid, _ := strings.Cut(string(review), `"uid":"`)
		uid, _, _ = strings.Cut(uid, `"`)
		w.Header().Set("Content-Type", jsonType)
		_, _ = fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": true, "patchType": "JSONPatch", "patch": %q}}`,
			uid, base64.StdEncoding.EncodeToString([]byte(patch)))
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	block := []byte(strings.Repeat(" ", 1<<16))
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
