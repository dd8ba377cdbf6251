package browser

import (
	"context"
	_ "embed"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var screenshot = flag.String("screenshot", "", "write what the page of -study gpu looks like to this `file.png`, and to file-dark.png")

//go:embed look.js
var look string

// findings is the result of look.js.
type findings struct {
	Faults []string `json:"faults"`
	Charts int      `json:"charts"`
	Tables int      `json:"tables"`
	Page   string   `json:"page"` // the background color
}

// A study is the flags of a command, and the content of its page.
type study struct {
	flags          string
	charts, tables int
}

// TestPages looks at the page of each study, in light and dark, in a wide and in a narrow window.
func TestPages(t *testing.T) {
	b := start(t)
	simulator := build(t)
	colors := map[string]string{"light": "rgb(246, 247, 249)", "dark": "rgb(18, 21, 27)"}
	studies := []study{
		{"-study small-jobs -jobs 1,5,20 -seeds 2", 4, 2},
		{"-study gpu -pods 2 -nodes 3 -seeds 3", 13, 7},
		{"-study scale -pods 200 -nodes 2", 2, 1},
		{"-study queues -seeds 2", 1, 1},
	}
	if _, err := os.Stat("../../../../shared/data/openb"); err == nil {
		studies = append(studies, study{"-study openb -seeds 3 -data ../../../../shared/data", 2, 1})
	}
	if _, err := os.Stat("../../../../shared/data/kueue"); err == nil {
		studies = append(studies, study{"-study kueue -seeds 2 -data ../../../../shared/data", 1, 1})
	}
	for _, tc := range studies {
		file := filepath.Join(t.TempDir(), "report.html")
		out, err := exec.Command(simulator, append(strings.Fields(tc.flags), "-report", file)...).CombinedOutput()
		require.NoError(t, err, string(out))
		for scheme, color := range colors {
			for _, width := range []int64{1200, 400} {
				f := b.look(t, file, scheme, width)
				require.Empty(t, f.Faults, "%s %s %d", tc.flags, scheme, width)
				require.Equal(t, findings{Faults: f.Faults, Charts: tc.charts, Tables: tc.tables, Page: color}, f, tc.flags)
			}
		}
		if *screenshot != "" && strings.Contains(tc.flags, "gpu") {
			b.picture(t, file, "light", *screenshot)
			b.picture(t, file, "dark", strings.TrimSuffix(*screenshot, ".png")+"-dark.png")
		}
	}
}

// TestFaultsAreFound makes sure that look.js is not blind.
func TestFaultsAreFound(t *testing.T) {
	b := start(t)
	file := filepath.Join(t.TempDir(), "bad.html")
	page := `<body style="background:#fff"><h1 style="color:#ccc">pale</h1><figure><svg width="300" height="10" aria-label="C"><path fill="#ffffcc" d="M0 0h9v9z"/></svg></figure>
<div style="width:2000px">wide</div></body>`
	require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
	faults := strings.Join(b.look(t, file, "light", 1200).Faults, "\n")
	for _, want := range []string{"H1 pale: contrast 1.61, want 4.5", "C: 300x10", "C: 0 texts and 1 marks", "C: mark rgb(255, 255, 204): contrast 1.0", "the page is 2008 wide"} {
		require.Contains(t, faults, want)
	}
	require.NoError(t, os.WriteFile(file, []byte("<script>oops()</script>"), 0o644))
	b.open(t, file, "light", 1200)
	require.Len(t, b.errors(), 1)
}

// build builds the simulator.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "simulator")
	cmd := exec.Command("go", "build", "-o", file, ".")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// A browser has no window and one tab. It keeps the errors of its page.
type browser struct {
	ctx   context.Context
	mu    sync.Mutex
	wrong []string
}

// start starts a browser, or skips the test without one.
func start(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium here: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for its end
		cancel()
	})
	b := &browser{ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	for _, command := range []cdp.Command[cdp.Empty, cdp.Empty]{runtime.Enable, log.Enable} {
		_, err := chromedp.Call(ctx, command, cdp.Empty{})
		require.NoError(t, err)
	}
	return b
}

// hear notes errors of scripts, and all messages on the console or from the browser.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, "console."+string(e.Type))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, e.Entry.Text)
	}
}

// errors are the errors since the last call.
func (b *browser) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong := b.wrong
	b.wrong = nil
	return wrong
}

func (b *browser) open(t *testing.T, file, scheme string, width int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 1500), chromedp.Navigate("file://"+file)))
}

func (b *browser) look(t *testing.T, file, scheme string, width int64) findings {
	t.Helper()
	b.open(t, file, scheme, width)
	f, err := chromedp.Run(b.ctx, chromedp.Evaluate[findings](look))
	require.NoError(t, err)
	require.Empty(t, b.errors())
	return f
}

// picture takes one of the upper part of a page.
func (b *browser) picture(t *testing.T, file, scheme, to string) {
	t.Helper()
	b.open(t, file, scheme, 1200)
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o644))
}
