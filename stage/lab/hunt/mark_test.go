package hunt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

// migrations make a Task with a generated name for each image that a Store has had. They look into a list
// that may be old.
func migrations(r *hunt.Run) {
	forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
		if isDeleted(s) {
			return nil
		}
		found, err := c.owned(tasks, s)
		if err != nil {
			return err
		}
		for _, t := range found {
			if text(t, "spec", "image") == text(s, "spec", "image") {
				return nil
			}
		}
		task := nameless(child(tasks, s, "a-migrate"))
		set(task, text(s, "spec", "image"), "spec", "image")
		if err := c.create(task); err != nil {
			return err
		}
		set(s, text(s, "spec", "image"), "status", "migrated")
		return c.updateStatus(s)
	})
	r.Apply(store("{image: 'a:1'}"))
	r.At(5*time.Minute, "upgrade", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"image":"a:2"}}`) })
}

// TestTheMarkIsAtTheWriteThatIsTooMany: the second Task of the first image, not the last Task; the difference
// is that Task alone, whatever the order of names.
func TestTheMarkIsAtTheWriteThatIsTooMany(t *testing.T) {
	out := play(t, migrations, "fault lag operator sees default/a-migrate-rkxrt ADDED Task #1\n")
	if len(out.Missed) > 0 { // the name follows from the seed
		t.Fatal(story(out))
	}
	var marked []hunt.Line
	for _, l := range out.Story {
		if strings.Contains(l.Text, "<- the twin has one less of these") {
			marked = append(marked, l)
		}
	}
	require.Len(t, marked, 1, story(out))
	require.Less(t, marked[0].At, time.Minute, story(out))
	require.Contains(t, marked[0].Text, "create Task")
	for _, f := range out.Findings {
		if f.Check == "the same end" {
			require.Equal(t, "Task default/a-migrate-?: the twin has one less", f.Text)
			return
		}
	}
	t.Fatal("no finding", out.Findings)
}

// swallowsErrors makes a Task for a Store. The bug: an error is no reason to try again.
func swallowsErrors(r *hunt.Run) {
	forStore(r, "operator", nil, func(c client, s *object, _ string) error {
		if !isDeleted(s) {
			_ = c.create(child(tasks, s, "a"))
		}
		return nil
	})
	r.Apply(store("{}"))
}

// TestWhatOnlyTheTwinDidIsToldBeside: the run lacks a write of its twin.
func TestWhatOnlyTheTwinDidIsToldBeside(t *testing.T) {
	report, err := hunt.Search(mutantOptions(50), swallowsErrors)
	require.NoError(t, err)
	require.NotEmpty(t, report.Failures)
	f := report.Failures[0]
	require.Equal(t, "the same end", f.Check)
	require.Contains(t, f.String(), "-- the twin, from its first write that is missing above --\n")
	require.Contains(t, f.Outcome.TwinStory[0].Text, "create Task default/a  <- missing in the run")
	plan, err := hunt.ParsePlan("f", f.String())
	require.NoError(t, err)
	require.Equal(t, f.Outcome.Plan, plan)
}
