package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the builds of packaging; a build by go install has the version of its module.
var version = ""

// commands are all commands, in the order of the help.
var commands = []struct {
	group string
	make  func() *cobra.Command
}{
	{"cluster", serveCommand}, {"cluster", readyCommand}, {"cluster", playCommand}, {"cluster", recordCommand}, {"cluster", backupCommand}, {"cluster", envtestCommand},
	{"stages", lintCommand}, {"stages", explainCommand}, {"stages", exploreCommand}, {"stages", diagramCommand}, {"stages", fitCommand},
	{"other", rehearseCommand}, {"other", huntCommand},
}

// newRoot returns the command for the name of its program: kubectl-ready is the plugin kubectl ready.
func newRoot(program string) *cobra.Command {
	if strings.TrimSuffix(program, ".exe") == "kubectl-ready" {
		plugin := readyCommand()
		plugin.Use = strings.Replace(plugin.Use, "ready", "kubectl-ready", 1)
		plugin.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl ready"}
		return finish(plugin)
	}
	root := &cobra.Command{
		Use:   "stagecraft",
		Short: "Kubernetes in memory, readiness, kwok Stages and staged rollouts",
		Long: `stagecraft serves a Kubernetes in memory to any client, waits until objects are ready,
checks, explains, draws and plays kwok Stages, and rehearses staged rollouts.

Exit codes: 0 yes, 1 no (not ready, faults, findings), 2 no answer (wrong flags,
unreadable files, unreachable clusters).`,
	}
	root.Example = `  stagecraft serve -- kubectl get nodes             # a cluster for one command
  stagecraft ready --wait deploy/web --timeout 2m   # or as a plugin: kubectl ready
  stagecraft lint stages/`
	root.AddGroup(&cobra.Group{ID: "cluster", Title: "Clusters:"}, &cobra.Group{ID: "stages", Title: "Stages:"}, &cobra.Group{ID: "other", Title: "Rollouts and hunts:"})
	for _, c := range commands {
		cmd := c.make()
		cmd.GroupID = c.group
		root.AddCommand(cmd)
	}
	return finish(root)
}

// finish sets what all commands have in common.
func finish(root *cobra.Command) *cobra.Command {
	root.Version = programVersion()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	all := append([]*cobra.Command{root}, root.Commands()...)
	for _, c := range root.Commands() {
		all = append(all, c.Commands()...)
	}
	for _, c := range all {
		c.DisableFlagsInUseLine, c.SuggestionsMinimumDistance = true, 2
		c.Flags().SortFlags = false
		check := c.Args
		if c.HasSubCommands() {
			check = knownCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
		if check != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				if err := check(c, args); err != nil {
					return usageError{err}
				}
				return nil
			}
		}
	}
	return root
}

// knownCommand refuses an unknown command, and suggests others.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := ""
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		text = "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usage("unknown command %q%s", args[0], text)
}
