package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

func huntCommand() *cobra.Command {
	c := &cobra.Command{Use: "hunt", Short: "Work with the plans of package stage/lab/hunt, which finds what breaks a controller"}
	c.AddCommand(replayCommand())
	return c
}

func replayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay PLAN...",
		Short: "Play plans that a hunt has kept, and print their stories",
		Long: `Play plans that a hunt has kept, and print their stories.

PLAN is testdata/hunt/TEST/NAME.hunt, below the package of the test that has found it.
It is played by go test, which must be installed, because the scenario is Go code.

Exit codes: 0 no plan fails any more, 1 a plan fails or is faulty, 2 no answer.`,
		Example: `  stagecraft hunt replay testdata/hunt/TestSurvivesEverything/eventually-ready.hunt`,
		Args:    cobra.MinimumNArgs(1),
	}
	var test, page string
	c.Flags().StringVar(&test, "test", "", "the `name` of the test (default: the folder of the plan)")
	c.Flags().StringVar(&page, "page", "", "write what fails also as a page, an HTML `file`: the run with a lane for each process, and the run without faults; for one PLAN")
	c.RunE = func(c *cobra.Command, args []string) error {
		if page != "" && len(args) > 1 {
			return usage("--page is for one plan, not for %d", len(args))
		}
		var errs []error
		for _, plan := range args {
			errs = append(errs, replay(c, plan, test, page))
		}
		return errors.Join(errs...)
	}
	return c
}

// replay plays one plan.
func replay(c *cobra.Command, plan, test, page string) error {
	text, err := os.ReadFile(plan)
	if err != nil {
		return err
	}
	if _, err := hunt.ParsePlan(plan, string(text)); err != nil {
		return faultyInput{err}
	}
	file, err := filepath.Abs(plan)
	if err != nil {
		return err
	}
	folder, of := filepath.Split(filepath.Dir(file))
	dir, inside := strings.CutSuffix(filepath.ToSlash(filepath.Clean(folder)), "/testdata/hunt")
	if !inside {
		return usage("%s: want a plan in testdata/hunt/TEST, below the package of its test", plan)
	}
	if test == "" {
		test = of
	}
	flags := []string{"test", "-count=1", "-v", "-run", "^" + regexp.QuoteMeta(test) + "$", ".", "-hunt.replay=" + file}
	if page != "" {
		if page, err = filepath.Abs(page); err != nil {
			return err
		}
		flags = append(flags, "-hunt.page="+page)
	}
	cmd := exec.CommandContext(c.Context(), "go", flags...)
	var printed strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.FromSlash(dir), io.MultiWriter(c.OutOrStdout(), &printed), c.ErrOrStderr()
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return errNo
	case err != nil:
		return fmt.Errorf("go test: %w", err)
	case !strings.Contains(printed.String(), "the whole story"): // without it go test has played nothing, and passes
		return usage("no test %s in %s plays plans: name the test with --test, a subtest as TestX/case", test, dir)
	}
	return nil
}
