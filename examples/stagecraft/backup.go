package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/backup"
)

func backupCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the objects of a cluster to a file, from which serve and tests go on",
		Long: `Write the objects of a cluster to a file, from which serve and tests go on.

It only lists. FILE is a new file; it has one line of JSON for each object. Objects
that are not readable, or not of a kind that the cluster in memory has, are named on
standard error.`,
		Example: `  stagecraft backup --blank-secrets cluster.jsonl
  stagecraft serve --backup cluster.jsonl --speed 60`,
		Args: cobra.ExactArgs(1),
	}
	connection := addConnection(c)
	var o backup.Options
	c.Flags().BoolVar(&o.BlankSecrets, "blank-secrets", false, "leave the values of Secrets out")
	c.RunE = func(c *cobra.Command, args []string) error {
		config, err := connection.config()
		if err != nil {
			return err
		}
		config.WarningHandler = rest.NoWarnings{} // that Endpoints are deprecated is no news of this cluster
		cluster, err := kube.NewForConfig(config)
		if err != nil {
			return err
		}
		b, err := backup.From(c.Context(), cluster, o)
		if err != nil {
			return err
		}
		tellOmissions(c.ErrOrStderr(), b)
		return writeBackup(args[0], b)
	}
	return c
}

// writeBackup writes a new file as a whole, readable for its owner: it has the Secrets of a cluster.
func writeBackup(name string, b *backup.Backup) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = b.Write(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(name) // a part of a cluster would look like a cluster
	}
	return err
}

// tellOmissions names what a backup leaves out.
func tellOmissions(w io.Writer, b *backup.Backup) {
	for _, o := range b.Omissions {
		fmt.Fprintf(w, "stagecraft: %s\n", o)
	}
}

// readBackups reads the files of a flag; nil without one.
func readBackups(w io.Writer, paths []string) (*backup.Backup, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	b, err := backup.ReadFiles(backup.Options{}, paths...)
	if err != nil {
		return nil, faultyInput{err}
	}
	tellOmissions(w, b)
	return b, nil
}
