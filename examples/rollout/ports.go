package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/player"
)

// A port is a rollout over Open Cluster Management or Argo CD: a hub in memory, simulated clusters, and
// what a Player does, second by second, without one.
type port struct {
	out       io.Writer
	hub       *memory.Cluster
	transport player.Transport
	rollout   *staged.Rollout
	view      player.View
	clusters  map[string]map[string]string
	has       map[string]string        // the version in each cluster
	push      func(version string)     // people or CI want a version
	act       func(obj map[string]any) // what a cluster does with the object that is written for it
	second    int
}

var portClusters = map[string]map[string]string{"dev1": {"env": "dev"}, "prod1": {"env": "prod"}, "prod2": {"env": "prod"}}

const portPolicy = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: nginx, uid: "1"}
spec:
  retention: Keep
  updates: Staged
  downsync: [{statusCollectors: [ready], objectSelectors: [{matchLabels: {app: nginx}}]}]
  stages:
  - {name: dev, clusterSelectors: [{matchLabels: {env: dev}}], condition: num('sum') == size(destinations), soak: 10s}
  - {name: prod, clusterSelectors: [{matchLabels: {env: prod}}], condition: num('sum') == size(destinations), progressDeadlineSeconds: 30, onFailure: Rollback}
`

// playPort rolls a good version out, and after a minute a bad one, which is not ready in prod1 and goes
// back in prod.
func playPort(ctx context.Context, argo bool, out io.Writer) error {
	policies, err := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", []byte(portPolicy)))
	if err != nil {
		return err
	}
	p := &port{out: out, clusters: portClusters, has: map[string]string{}, rollout: staged.NewRollout(policies[0]),
		hub: memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: manifestwork.Kind, Status: true}, {GroupVersionKind: application.Kind}}})}
	p.view = player.View{Policy: policies[0], Meta: policies[0].Definition().ObjectMeta, Contents: map[fleet.RevisionID]fleet.Snapshot{}}
	prepare := p.overManifestWorks
	if argo {
		prepare = p.overApplications
	}
	if err := prepare(ctx); err != nil {
		return err
	}
	p.push("1")
	for p.second = 0; p.second < 180; p.second++ {
		if p.second == 60 {
			p.push("2")
		}
		if err := p.step(ctx); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(out, p.rollout.Decide(p.view.Status, p.transport.World(p.view)).Message)
	return err
}

// step does what happens in a second: the rollout decides and writes, and the clusters act.
func (p *port) step(ctx context.Context) error {
	p.view.Now = fleet.Instant{Time: time.Date(2006, 1, 2, 15, 4, p.second, 0, time.UTC), Known: true}
	w := p.transport.World(p.view)
	w.Workload.Revision = cmp.Or(w.Workload.Revision, p.view.Workload.Revision)
	w.Workload.Objects = slices.Concat(w.Workload.Objects, p.view.Workload.Objects)
	d := p.rollout.Decide(p.view.Status, w)
	p.view.Status = d.Status // a Player stores it before it places anything
	for _, e := range d.Events {
		p.print(e.Reason + ": " + e.Message)
	}
	for _, want := range d.Place {
		if !p.transport.Differs(p.view, want) {
			continue
		}
		if _, err := p.transport.Place(ctx, p.view, want, p.view.Contents[want.Revision]); err != nil {
			return err
		}
	}
	for kind := range p.transport.Kinds() {
		list, err := p.hub.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			obj := &list.Items[i]
			p.act(obj.Object)
			var sub []string
			if kind == manifestwork.Kind {
				sub = []string{"status"}
			}
			stored, err := p.hub.Update(ctx, obj, metav1.UpdateOptions{}, sub...)
			if err == nil {
				_, err = p.transport.Observe(kind, stored, false)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *port) print(text string) {
	fmt.Fprintf(p.out, "+%-6s %s\n", time.Duration(p.second)*time.Second, text)
}

// receive is a cluster that gets a version. The second version is not ready in prod1.
func (p *port) receive(cluster, version string) (ready int64) {
	if before := p.has[cluster]; before != version {
		p.print(fmt.Sprintf("cluster %s: from %s to version %s", cluster, cmp.Or(before, "nothing"), version))
		p.has[cluster] = version
	}
	if cluster == "prod1" && version == "2" {
		return 0
	}
	return 1
}

// collectors sum a value of the reports.
func collectors(subject string) (map[string]*kubestellar.Collector, error) {
	c, err := kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &subject}}})
	return map[string]*kubestellar.Collector{"ready": c}, err
}

// overManifestWorks prepares Open Cluster Management: the workload is a Deployment on the hub.
func (p *port) overManifestWorks(context.Context) error {
	sum, err := collectors("returned.status.availableReplicas")
	p.transport = manifestwork.New(p.hub, manifestwork.Options{Clusters: func() map[string]map[string]string { return p.clusters },
		Feedback: map[string]string{"availableReplicas": ".availableReplicas"}, Collectors: sum})
	p.push = func(version string) {
		p.print("Deployment nginx has version " + version)
		content, _ := fleet.NewSnapshot([]*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "nginx", "namespace": "nginx", "labels": map[string]any{"app": "nginx"}},
			"spec":     map[string]any{"version": version}}}}) // it is plain JSON
		clause := control.DownsyncClause{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "nginx", Name: "nginx"}
		clause.StatusCollectors = []string{"ready"}
		p.view.Contents[content.Revision] = content
		p.view.Workload = fleet.Workload{Revision: content.Revision, Objects: []*fleet.Object{{Clause: clause}}}
	}
	p.act = p.manifestWorkAgent
	return err
}

// manifestWorkAgent is the agent of Open Cluster Management in a cluster. A ManifestWork that only reads
// changes nothing there. The others carry a rule: its condition says that the feedback next to it is of
// the revision.
func (p *port) manifestWorkAgent(work map[string]any) {
	obj := unstructured.Unstructured{Object: work}
	manifests, _, _ := unstructured.NestedSlice(work, "spec", "workload", "manifests")
	configs, _, _ := unstructured.NestedSlice(work, "spec", "manifestConfigs")
	config := configs[0].(map[string]any)
	condition := func(kind, status string, message any) map[string]any {
		return map[string]any{"type": kind, "status": status, "message": message, "observedGeneration": obj.GetGeneration()}
	}
	conditions, ready := []any{condition("Applied", "True", "")}, int64(0)
	if strategy, _, _ := unstructured.NestedString(config, "updateStrategy", "type"); strategy == "ReadOnly" {
		conditions = append(conditions, condition("Available", "False", "it is not there"))
	} else {
		version, _, _ := unstructured.NestedString(manifests[0].(map[string]any), "spec", "version")
		ready = p.receive(obj.GetNamespace(), version)
		rules, _, _ := unstructured.NestedSlice(config, "conditionRules")
		rule := rules[0].(map[string]any)
		conditions = append(conditions, condition("Available", "True", ""), condition(rule["condition"].(string), "True", rule["message"]))
	}
	work["status"] = map[string]any{"conditions": []any{condition("Applied", "True", "")}, "resourceStatus": map[string]any{"manifests": []any{map[string]any{
		"resourceMeta":   map[string]any{"group": "apps", "resource": "deployments", "namespace": "nginx", "name": "nginx"},
		"statusFeedback": map[string]any{"values": []any{map[string]any{"name": "availableReplicas", "fieldValue": map[string]any{"type": "Integer", "integer": ready}}}},
		"conditions":     conditions,
	}}}}
}

// overApplications prepares Argo CD: there is an Application for each cluster, and the wanted source stands
// in an annotation of the policy.
func (p *port) overApplications(ctx context.Context) error {
	healthy, err := collectors("returned.status.health == 'Healthy' ? 1 : 0")
	p.transport = application.New(p.hub, application.Options{Clusters: func() map[string]map[string]string { return p.clusters },
		Name: application.ByCluster("nginx"), Namespace: "argocd", Collectors: healthy})
	for _, cluster := range slices.Sorted(maps.Keys(p.clusters)) {
		app := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"source": map[string]any{"repoURL": "https://example.org/nginx.git"}}}}
		app.SetGroupVersionKind(application.Kind)
		app.SetNamespace("argocd")
		app.SetName("nginx-" + cluster)
		stored, e := p.hub.Create(ctx, app, metav1.CreateOptions{})
		if e == nil {
			_, e = p.transport.Observe(application.Kind, stored, false)
		}
		err = errors.Join(err, e)
	}
	p.push = func(version string) {
		p.print("the wanted source is the commit of version " + version)
		source := fmt.Sprintf(`{"repoURL": "https://example.org/nginx.git", "targetRevision": "%040s"}`, version)
		p.view.Meta.Annotations = map[string]string{application.SourceAnnotation: source}
	}
	p.act = p.argoCD
	return err
}

// argoCD is Argo CD's controller: it syncs, and writes sync and health from one comparison.
func (p *port) argoCD(app map[string]any) {
	source, _, _ := unstructured.NestedMap(app, "spec", "source")
	target, _ := source["targetRevision"].(string)
	if target == "" {
		return
	}
	name := (&unstructured.Unstructured{Object: app}).GetName()
	health := "Degraded"
	if p.receive(strings.TrimPrefix(name, "nginx-"), strings.TrimLeft(target, "0")) == 1 {
		health = "Healthy"
	}
	app["status"] = map[string]any{"health": map[string]any{"status": health},
		"sync": map[string]any{"status": "Synced", "revision": target, "comparedTo": map[string]any{"source": source}}}
}
