package hostile_test

import (
	"fmt"
	"strings"
	"time"
)

const (
	most     = "2147483647"
	template = `{"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`
	selector = `"selector": {"matchLabels": {"a": "b"}}, "template": ` + template
	once     = `{"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}`
)

// workloads are objects with large and odd numbers. The lab works on them while the probe goes on.
func workloads() (all []attack) {
	base := map[string]string{
		"deployments": "/apis/apps/v1", "statefulsets": "/apis/apps/v1", "replicasets": "/apis/apps/v1", "daemonsets": "/apis/apps/v1",
		"jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1", "horizontalpodautoscalers": "/apis/autoscaling/v2",
		"poddisruptionbudgets": "/apis/policy/v1", "leases": "/apis/coordination.k8s.io/v1",
	}
	for name, w := range map[string]struct{ kind, spec string }{
		"a Deployment of replicas":       {"deployments", `{"replicas": ` + most + `, ` + selector + `}`},
		"a Deployment with surge":        {"deployments", `{"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "` + most + `%", "maxUnavailable": 0}}, "revisionHistoryLimit": ` + most + `, "progressDeadlineSeconds": ` + most + `, "minReadySeconds": 2147483646, ` + selector + `}`},
		"a ReplicaSet":                   {"replicasets", `{"replicas": ` + most + `, ` + selector + `}`},
		"a StatefulSet":                  {"statefulsets", `{"serviceName": "x", "replicas": ` + most + `, ` + selector + `}`},
		"a parallel StatefulSet":         {"statefulsets", `{"serviceName": "x", "podManagementPolicy": "Parallel", "replicas": ` + most + `, ` + selector + `}`},
		"a StatefulSet with ordinals":    {"statefulsets", `{"serviceName": "x", "replicas": ` + most + `, "ordinals": {"start": ` + most + `}, ` + selector + `}`},
		"a StatefulSet with a partition": {"statefulsets", `{"serviceName": "x", "replicas": 1, "updateStrategy": {"rollingUpdate": {"partition": ` + most + `}}, ` + selector + `}`},
		"a Job":                          {"jobs", `{"parallelism": ` + most + `, "completions": ` + most + `, "backoffLimit": ` + most + `, "template": ` + once + `}`},
		"an indexed Job":                 {"jobs", `{"completionMode": "Indexed", "parallelism": 100000, "completions": ` + most + `, "template": ` + once + `}`},
		"an indexed Job with limits":     {"jobs", `{"completionMode": "Indexed", "parallelism": 5, "completions": 100000, "backoffLimitPerIndex": ` + most + `, "maxFailedIndexes": 100000, "template": ` + once + `}`},
		"a Job with a success policy":    {"jobs", `{"completionMode": "Indexed", "parallelism": 5, "completions": ` + most + `, "successPolicy": {"rules": [{"succeededIndexes": "0-2147483646"}]}, "template": ` + once + `}`},
		"a Job with deadlines":           {"jobs", `{"activeDeadlineSeconds": 9223372036854775807, "ttlSecondsAfterFinished": ` + most + `, "template": ` + once + `}`},
		"a CronJob that is late":         {"cronjobs", `{"schedule": "* * * * *", "startingDeadlineSeconds": 9223372036854775807, "successfulJobsHistoryLimit": ` + most + `, "jobTemplate": {"spec": {"template": ` + once + `}}}`},
		"a CronJob of an odd schedule":   {"cronjobs", `{"schedule": "0 0 31 2 *", "timeZone": "Antarctica/Troll", "jobTemplate": {"spec": {"template": ` + once + `}}}`},
		"a CronJob of a long schedule":   {"cronjobs", `{"schedule": "` + strings.Repeat("1,", 100_000) + `1 * * * *", "jobTemplate": {"spec": {"template": ` + once + `}}}`},
		"a CronJob of many Pods":         {"cronjobs", `{"schedule": "* * * * *", "jobTemplate": {"spec": {"parallelism": ` + most + `, "completions": ` + most + `, "template": ` + once + `}}}`},
		"a DaemonSet":                    {"daemonsets", `{"updateStrategy": {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}, "minReadySeconds": ` + most + `, ` + selector + `}`},
		"an autoscaler":                  {"horizontalpodautoscalers", `{"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "ds"}, "maxReplicas": ` + most + `, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}], "behavior": {"scaleUp": {"policies": [{"type": "Percent", "value": ` + most + `, "periodSeconds": 1}]}}}`},
		"an autoscaler of itself":        {"horizontalpodautoscalers", `{"scaleTargetRef": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "target"}, "maxReplicas": 1}`},
		"a budget of percents":           {"poddisruptionbudgets", `{"minAvailable": "` + most + `%", "selector": {}}`},
		"a budget of numbers":            {"poddisruptionbudgets", `{"maxUnavailable": ` + most + `, "selector": {}}`},
		"a Lease":                        {"leases", `{"leaseDurationSeconds": ` + most + `, "renewTime": "9999-12-31T23:59:59.000000Z"}`},
		"a Pod with quantities":          {"pods", `{"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1e99999", "memory": "99999999999999999999999999999Ki"}}}]}`},
		"a Pod with small quantities":    {"pods", `{"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1e-99999", "memory": "0.0000000001"}}}]}`},
		"a Pod that spreads":             {"pods", `{"topologySpreadConstraints": [{"maxSkew": ` + most + `, "topologyKey": "x", "whenUnsatisfiable": "DoNotSchedule", "minDomains": ` + most + `, "labelSelector": {}}], "containers": [{"name": "c", "image": "i"}]}`},
		"a Pod that ends in an age":      {"pods", `{"terminationGracePeriodSeconds": 9223372036854775807, "activeDeadlineSeconds": ` + most + `, "containers": [{"name": "c", "image": "i"}]}`},
		"a Pod with odd probes":          {"pods", `{"containers": [{"name": "c", "image": "i", "readinessProbe": {"initialDelaySeconds": ` + most + `, "periodSeconds": ` + most + `, "timeoutSeconds": ` + most + `, "failureThreshold": ` + most + `, "tcpSocket": {"port": 1}}}]}`},
		"a Pod with 2,000 containers":    {"pods", `{"containers": ` + repeated(2000, func(i int) string { return fmt.Sprintf(`{"name": "c%d", "image": "i"}`, i) }) + `}`},
		"a Pod with 2,000 affinities": {"pods", `{"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ` + repeated(2000, func(i int) string {
			return fmt.Sprintf(`{"topologyKey": "k%d", "labelSelector": {"matchLabels": {"a": "b%d"}}}`, i, i)
		}) + `}}, "containers": [{"name": "c", "image": "i"}]}`},
		"a Pod with 2,000 tolerations": {"pods", `{"tolerations": ` + repeated(2000, func(i int) string {
			return fmt.Sprintf(`{"key": "k%d", "operator": "Exists", "tolerationSeconds": 9223372036854775807}`, i)
		}) + `, "containers": [{"name": "c", "image": "i"}]}`},
		"a Pod with gates":                 {"pods", `{"readinessGates": [{"conditionType": "x\n          status: Z\n        - type: Injected"}], "schedulingGates": [{"name": "a/b"}], "containers": [{"name": "c", "image": "i\"\n  restartCount: 99 #"}]}`},
		"a quota":                          {"resourcequotas", `{"hard": {"pods": "1e30", "requests.cpu": "9e99", "count/things.hostile.io": "1"}}`},
		"a range of limits":                {"limitranges", `{"limits": [{"type": "Container", "max": {"cpu": "1e-99999"}, "min": {"cpu": "9e99"}, "maxLimitRequestRatio": {"cpu": "1e-9"}}]}`},
		"a Service of 3,000 ports":         {"services", `{"selector": {"a": "b"}, "ports": ` + repeated(3000, func(i int) string { return fmt.Sprintf(`{"name": "p%d", "port": %d, "targetPort": "x%d"}`, i, i+1, i) }) + `}`},
		"a Service of all node ports":      {"services", `{"type": "NodePort", "ports": ` + repeated(3000, func(i int) string { return fmt.Sprintf(`{"name": "p%d", "port": %d}`, i, i+1) }) + `}`},
		"a claim of nothing":               {"persistentvolumeclaims", `{"accessModes": ["ReadWriteOnce"], "volumeName": "x", "resources": {"requests": {"storage": "9e99"}}}`},
		"a claim of the volume of another": {"persistentvolumeclaims", `{"accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "volumeName": "pvc-of-another", "resources": {"requests": {"storage": "1"}}}`},
	} {
		group := base[w.kind]
		if group == "" {
			group = "/api/v1"
		}
		path := group + "/namespaces/hostile/" + w.kind
		all = append(all, attack{"numbers: " + name, func(c *client) {
			c.post(path, `{"metadata": {"name": "target", "labels": {"a": "b"}}, "spec": `+w.spec+`}`)
			c.linger(path)
		}})
	}
	return sorted(all)
}

// linger gives the lab's controllers a few rounds, and then lets them undo what they have made.
func (c *client) linger(path string) {
	for range 20 {
		c.get(path + "/target")
		time.Sleep(time.Millisecond)
	}
	c.send(request{method: "DELETE", path: path + "/target", kind: jsonType, body: text(`{"propagationPolicy": "Background", "gracePeriodSeconds": 0}`)})
	c.send(request{method: "DELETE", path: "/api/v1/namespaces/hostile/pods?gracePeriodSeconds=0"})
}

// metadata are objects with odd metadata.
func metadata() (all []attack) {
	many := func(n int, form string) string {
		return repeated(n, func(i int) string { return fmt.Sprintf(form, i) })
	}
	for name, m := range map[string]string{
		"40,000 labels":           `{"name": "target", "labels": {` + bare(many(40_000, `"a%d": "b"`)) + `}}`,
		"40,000 annotations":      `{"name": "target", "annotations": {` + bare(many(40_000, `"a%d": "b"`)) + `}}`,
		"40,000 finalizers":       `{"name": "target", "finalizers": ` + many(40_000, `"a/b%d"`) + `}`,
		"10,000 owners":           `{"name": "target", "ownerReferences": ` + many(10_000, `{"apiVersion": "v1", "kind": "ConfigMap", "name": "o%d", "uid": "u%[1]d", "blockOwnerDeletion": true}`) + `}`,
		"10,000 times one owner":  `{"name": "target", "ownerReferences": ` + many(10_000, `{"apiVersion": "v1", "kind": "ConfigMap", "name": "target", "uid": "u%.0d"}`) + `}`,
		"a generated name":        `{"generateName": "` + strings.Repeat("a", 1<<20) + `"}`,
		"a name of a megabyte":    `{"name": "` + strings.Repeat("a", 1<<20) + `"}`,
		"a name that is a path":   `{"name": "../../../etc/passwd"}`,
		"times of another age":    `{"name": "target", "creationTimestamp": "9999-12-31T23:59:59Z", "deletionTimestamp": "0001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 9223372036854775807}`,
		"a version of its own":    `{"name": "target", "resourceVersion": "18446744073709551615", "uid": "x", "generation": 9223372036854775807}`,
		"annotations of delays":   `{"name": "target", "annotations": {"pod-create.stage.kwok.x-k8s.io/delay": "9999999h", "kwok.x-k8s.io/x": "\"\n injected: 1", "pod-ready.stage.kwok.x-k8s.io/delay": "1e999"}}`,
		"labels that are numbers": `{"name": "target", "labels": {"a": 1, "b": null, "c": {}}}`,
	} {
		all = append(all, attack{"metadata: " + name, func(c *client) {
			c.post(configMaps, `{"metadata": `+m+`}`)
			c.patch(configMaps+"/target", mergeType, `{"metadata": {"annotations": {"x": "y"}}}`)
			c.send(request{method: "DELETE", path: configMaps + "/target"})
			c.patch(configMaps+"/target", mergeType, `{"metadata": {"annotations": {"x": "z"}}}`)
			c.patch(configMaps+"/target", mergeType, `{"metadata": {"finalizers": null, "ownerReferences": null}}`)
		}})
	}
	return append(sorted(all), attack{"owners in a circle", func(c *client) {
		for i := range 50 {
			a := c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "o%d"}}`, i))
			c.patch(fmt.Sprintf("%s/o%d", configMaps, (i+49)%50), mergeType, fmt.Sprintf(`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o%d", "uid": %q}]}}`, i, a.object().GetUID()))
		}
		c.send(request{method: "DELETE", path: configMaps + "/o7", kind: jsonType, body: text(`{"propagationPolicy": "Foreground"}`)})
	}})
}

// subresources are odd requests to subresources.
func subresources() (all []attack) {
	const pod = "/api/v1/namespaces/hostile/pods"
	for name, r := range map[string]request{
		"a Scale of many":                  {method: "PUT", path: "/apis/apps/v1/namespaces/hostile/deployments/target/scale", kind: jsonType, body: text(`{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "target", "namespace": "hostile"}, "spec": {"replicas": ` + most + `}}`)},
		"a Scale of too many":              {method: "PATCH", path: "/apis/apps/v1/namespaces/hostile/deployments/target/scale", kind: mergeType, body: text(`{"spec": {"replicas": 99999999999999999999}}`)},
		"an apply of a Scale":              {method: "PATCH", path: "/apis/apps/v1/namespaces/hostile/deployments/target/scale?fieldManager=x", kind: applyType, body: text("kind: Scale\napiVersion: autoscaling/v1\nspec:\n  replicas: 1\n  x: &a [*a]\n")},
		"a Binding to nowhere":             {method: "POST", path: pod + "/target/binding", kind: jsonType, body: text(`{"metadata": {"name": "target"}, "target": {"kind": "Node", "name": "` + strings.Repeat("n", 1<<20) + `"}}`)},
		"an eviction":                      {method: "POST", path: pod + "/target/eviction", kind: jsonType, body: text(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "target"}, "deleteOptions": {"gracePeriodSeconds": 9223372036854775807}}`)},
		"a token for an age":               {method: "POST", path: "/api/v1/namespaces/hostile/serviceaccounts/default/token", kind: jsonType, body: text(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 99999999999}}`)},
		"a status of a Job":                {method: "PATCH", path: "/apis/batch/v1/namespaces/hostile/jobs/target/status", kind: mergeType, body: text(`{"status": {"succeeded": ` + most + `, "completedIndexes": "0-99999999999,5-3,x", "failedIndexes": "9-1", "uncountedTerminatedPods": {"succeeded": ["x", "x"]}, "startTime": "9999-12-31T23:59:59Z"}}`)},
		"a status of a Deployment":         {method: "PATCH", path: "/apis/apps/v1/namespaces/hostile/deployments/target/status", kind: mergeType, body: text(`{"status": {"replicas": ` + most + `, "collisionCount": ` + most + `, "observedGeneration": 9223372036854775807}}`)},
		"a revision of a Deployment":       {method: "PATCH", path: "/apis/apps/v1/namespaces/hostile/deployments/target", kind: mergeType, body: text(`{"metadata": {"annotations": {"deployment.kubernetes.io/revision": "9223372036854775807"}}, "spec": {"template": {"metadata": {"annotations": {"x": "y"}}}}}`)},
		"a status of a CronJob":            {method: "PATCH", path: "/apis/batch/v1/namespaces/hostile/cronjobs/target/status", kind: mergeType, body: text(`{"status": {"lastScheduleTime": "0001-01-01T00:00:00Z"}}`)},
		"a log":                            {method: "GET", path: pod + "/target/log?tailLines=9223372036854775807&limitBytes=9223372036854775807&follow=true"},
		"exec":                             {method: "POST", path: pod + "/target/exec?command=sh"},
		"a proxy":                          {method: "GET", path: pod + "/target/proxy/http://192.0.2.1/"},
		"an unknown subresource":           {method: "GET", path: pod + "/target/" + strings.Repeat("a/", 10_000)},
		"impersonation":                    {method: "GET", path: pod, header: map[string]string{"Impersonate-User": "system:admin", "Impersonate-Group": "system:masters"}},
		"a group without a user":           {method: "GET", path: pod, header: map[string]string{"Impersonate-Group": "system:masters"}},
		"a review":                         {method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", kind: jsonType, body: func() string { return `{"spec": {"user": "a", "extra": ` + members(20_000) + `}}` }},
		"finalizing a namespace":           {method: "PUT", path: "/api/v1/namespaces/default/finalize", kind: jsonType, body: text(`{"metadata": {"name": "default"}, "spec": {"finalizers": []}}`)},
		"deleting the namespace of Leases": {method: "DELETE", path: "/api/v1/namespaces/kube-node-lease?dryRun=All"},
	} {
		all = append(all, attack{"a subresource: " + name, func(c *client) {
			c.post("/apis/apps/v1/namespaces/hostile/deployments", `{"metadata": {"name": "target"}, "spec": {"replicas": 1, `+selector+`}}`)
			c.post("/apis/batch/v1/namespaces/hostile/jobs", `{"metadata": {"name": "target"}, "spec": {"completionMode": "Indexed", "completions": 5, "template": `+once+`}}`)
			c.post("/apis/batch/v1/namespaces/hostile/cronjobs", `{"metadata": {"name": "target"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": `+once+`}}}}`)
			c.post(pod, `{"metadata": {"name": "target"}, "spec": {"schedulingGates": [{"name": "a/b"}], "containers": [{"name": "c", "image": "i"}]}}`)
			c.send(r)
			c.linger("/apis/apps/v1/namespaces/hostile/deployments")
		}})
	}
	return sorted(all)
}
