package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// A connection is the flags that say which cluster is meant, as kubectl has them.
type connection struct {
	file, context, namespace string
}

func addConnection(c *cobra.Command) *connection {
	var f connection
	c.Flags().StringVar(&f.file, "kubeconfig", "", "`file` of the cluster (default $KUBECONFIG, or ~/.kube/config)")
	c.Flags().StringVar(&f.context, "context", "", "`name` of the context in it (default: the current one)")
	return &f
}

// loader reads the kubeconfig.
func (f *connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.file
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	overrides.Context.Namespace = f.namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// config returns the configuration of the cluster, without a rate limit: the server limits its clients.
func (f *connection) config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.UserAgent = "stagecraft/" + programVersion()
	return config, nil
}

// cluster connects to the cluster.
func (f *connection) cluster() (*kube.Cluster, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return kube.NewForConfig(config)
}
