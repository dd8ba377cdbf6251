package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/stage/lab/envtest"
)

func envtestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "envtest DIR",
		Short: "Make a directory for KUBEBUILDER_ASSETS, so that the tests of an operator run in memory",
		Long: `Make a directory for KUBEBUILDER_ASSETS, so that the tests of an operator run in memory.

The etcd and kube-apiserver in DIR are copies of stagecraft: envtest of controller-runtime
starts them instead of the real ones. With STAGECRAFT_LAB=3 in the environment of the tests
there are also 3 Nodes, controllers, a scheduler and kubelets. Prints the line that sets
the variable.`,
		Example: `  eval "$(stagecraft envtest assets)" && go test ./...`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			hasKubectl, err := envtest.Install(dir)
			if err != nil {
				return err
			}
			if !hasKubectl {
				fmt.Fprintln(c.ErrOrStderr(), "no kubectl in the PATH: tests that call ControlPlane.KubeCtl need one in that directory")
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "export KUBEBUILDER_ASSETS=%s\n", dir)
			return err
		},
	}
}
