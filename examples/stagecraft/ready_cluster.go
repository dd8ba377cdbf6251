package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// A finder finds the objects of a cluster that arguments name.
type finder struct {
	cluster   *kube.Cluster
	mapper    meta.RESTMapper
	namespace string
	all       bool // in all namespaces
	selector  string
}

// refs connects to the cluster and returns the objects that the arguments and the files of -f name.
func (o *readiness) refs(c *cobra.Command, args []string) (*kube.Cluster, []wait.Ref, error) {
	f, err := o.finder(c.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	var refs []wait.Ref
	var errs []error
	for _, arg := range args {
		found, err := f.find(c.Context(), arg)
		refs, errs = append(refs, found...), append(errs, err)
	}
	if len(o.names) > 0 {
		named, err := readManifests(o.names, c.InOrStdin(), false)
		errs = append(errs, err)
		for _, m := range named {
			refs = append(refs, f.refOf(m))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if len(refs) == 0 {
		return nil, nil, fmt.Errorf("no objects found for %s", strings.Join(args, " "))
	}
	return f.cluster, refs, nil
}

func (o *readiness) finder(warnings io.Writer) (*finder, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace, _, err := o.loader().Namespace()
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, func(warning string) { fmt.Fprintln(warnings, warning) })
	return &finder{cluster: cluster, mapper: mapper, namespace: cmp.Or(o.namespace, namespace), all: o.everywhere, selector: o.selector}, nil
}

// find returns the objects of an argument: TYPE or TYPE/NAME.
func (f *finder) find(ctx context.Context, arg string) ([]wait.Ref, error) {
	resource, name, named := strings.Cut(arg, "/")
	kind, namespaced, err := f.kindOf(resource)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	namespace := ""
	if namespaced && (named || !f.all) {
		namespace = f.namespace
	}
	if named {
		return []wait.Ref{{Kind: kind, Namespace: namespace, Name: name}}, nil
	}
	list, err := f.cluster.List(ctx, kind, namespace, metav1.ListOptions{LabelSelector: f.selector})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	var refs []wait.Ref
	for i := range list.Items {
		refs = append(refs, wait.Ref{Kind: kind, Namespace: list.Items[i].GetNamespace(), Name: list.Items[i].GetName()})
	}
	slices.SortFunc(refs, func(a, b wait.Ref) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return refs, nil
}

// kindOf returns the kind of a TYPE of kubectl, such as deploy, pods or certificates.cert-manager.io.
func (f *finder) kindOf(resource string) (kind schema.GroupVersionKind, namespaced bool, err error) {
	full, group := schema.ParseResourceArg(strings.ToLower(resource))
	if full != nil {
		kind, err = f.mapper.KindFor(*full)
	}
	if full == nil || err != nil {
		kind, err = f.mapper.KindFor(group.WithVersion(""))
	}
	if err != nil {
		return kind, false, err
	}
	mapping, err := f.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return kind, false, err
	}
	return kind, mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// refOf returns the reference to an object of a file, in the namespace of the context if it names none.
func (f *finder) refOf(m manifests.Manifest) wait.Ref {
	ref := wait.RefOf(m.Unstructured)
	mapping, err := f.mapper.RESTMapping(ref.Kind.GroupKind(), ref.Kind.Version)
	switch {
	case err != nil: // a kind that is defined later: its objects are waited for all the same
		return ref
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		ref.Namespace = ""
	case ref.Namespace == "":
		ref.Namespace = f.namespace
	}
	return ref
}

func nameOf(ref wait.Ref) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
