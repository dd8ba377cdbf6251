package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

var screenshots = flag.String("screenshots", "", "write pictures of the page into this `folder`")

//go:embed look.js
var look string

// maxCompressed is the largest size of the page, compressed.
const maxCompressed = 12_000_000

// longestStart is how long the first answer may take on a busy machine. The page states what it takes on an idle one.
const longestStart = 20 * time.Second

// TestPage opens the page in a browser, from a server and from a disk, and plays with it.
func TestPage(t *testing.T) {
	b := start(t)
	file := filepath.Join(t.TempDir(), "index.html")
	data, err := build("../..")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o644))
	packed, err := compress(data)
	require.NoError(t, err)
	require.Less(t, len(packed), maxCompressed)

	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
	defer server.Close()
	b.open(t, server.URL+"/")
	require.Contains(t, b.shown(t), "All lives")
	b.open(t, "file://"+file)
	took := time.Duration(eval[float64](t, b, `Number(document.documentElement.dataset.answered)`) * float64(time.Millisecond))
	t.Logf("the first answer came %s after the load began", took)
	require.Less(t, took, longestStart)
	require.Contains(t, b.shown(t), `Pod default/web: next is "pod-create"`)
	require.Zero(t, eval[float64](t, b, `document.querySelectorAll("template").length`), "parts of the program that the worker has not got")

	for _, test := range []struct {
		name string
		try  func(*testing.T)
	}{{"examples", b.tryExamples}, {"looks", b.tryLooks}, {"keyboard", b.tryKeyboard}, {"hostile texts", b.tryHostile}, {"links", b.tryLinks}} {
		if !t.Run(test.name, test.try) {
			return
		}
	}
}

// choose chooses an example of a view.
func (b *browser) choose(t *testing.T, view string, example int) {
	t.Helper()
	b.do(t, fmt.Sprintf(`tab(%q); $("example").selectedIndex = %d; $("example").onchange()`, view, example))
}

// tryExamples looks at each example of each view.
func (b *browser) tryExamples(t *testing.T) {
	for view, texts := range map[string][]string{
		"lives":   {"A run in virtual time", "pod-init-container-running-failed", "node-heartbeat", "PersistentVolume", "spec.delay.jitterDurationMillisecond"},
		"status":  {`status.containerStatuses[name="app"]`, "a guess"},
		"rollout": {"", "", ""},
	} {
		for i, text := range texts {
			b.choose(t, view, i)
			require.Contains(t, b.shown(t), text)
			if view == "rollout" {
				b.wait(t, `document.querySelector("iframe")?.contentDocument?.body?.innerText.includes("The rollout")`)
			}
		}
	}
}

// tryLooks looks at all views in light and dark, in a wide and in a narrow window.
func (b *browser) tryLooks(t *testing.T) {
	colors := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}
	for scheme, color := range colors {
		for _, width := range []int64{1400, 400} {
			b.emulate(t, scheme, width)
			for name, example := range map[string]int{"lives": 0, "status": 0, "rollout": 0, "faults": 4} {
				b.choose(t, strings.Replace(name, "faults", "lives", 1), example)
				b.shown(t)
				f := eval[findings](t, b, look)
				require.Empty(t, f.Faults, "%s %s %d", name, scheme, width)
				require.Equal(t, color, f.Page)
				if *screenshots != "" {
					time.Sleep(time.Second) // the frame of a rehearsal is drawn later
					b.picture(t, filepath.Join(*screenshots, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)))
				}
			}
		}
	}
}

// findings is the result of look.js.
type findings struct {
	Faults []string `json:"faults"`
	Page   string   `json:"page"` // the background color
}

// tryKeyboard uses the page without a mouse.
func (b *browser) tryKeyboard(t *testing.T) {
	b.choose(t, "lives", 0)
	b.shown(t)
	b.do(t, `$("slider").focus()`)
	before := eval[string](t, b, `$("slider").ariaValueText`)
	b.press(t, kb.ArrowRight)
	require.Equal(t, "1", eval[string](t, b, `$("slider").value`))
	require.NotEqual(t, before, eval[string](t, b, `$("slider").ariaValueText`))

	b.choose(t, "lives", 4)
	b.shown(t)
	b.do(t, `document.querySelector("button.place").focus()`)
	b.press(t, kb.Enter)
	require.Equal(t, "jitterDurationMillisecond: 5000", eval[string](t, b, `((e) => e.value.slice(e.selectionStart, e.selectionEnd))(document.activeElement)`))

	b.do(t, `$("tab-lives").focus()`)
	b.press(t, kb.ArrowRight)
	require.Equal(t, "tab-status", eval[string](t, b, `document.activeElement.id`))
	require.Contains(t, b.shown(t), "ImagePullBackOff")
}

// write writes a text as a user does, and waits for the answer.
func (b *browser) write(t *testing.T, editor, text string) {
	t.Helper()
	b.do(t, fmt.Sprintf(`editors[%q].set(%q); editors[%[1]q].text.dispatchEvent(new Event("input"))`, editor, text))
	b.wait(t, `untouched === false && !waiting`)
	b.shown(t)
}

// tryHostile writes markup, and has the worker replaced.
func (b *browser) tryHostile(t *testing.T) {
	b.choose(t, "status", 0)
	b.write(t, "objects", `{apiVersion: v1, kind: "<img src=x onerror=alert(1)>", metadata: {name: "<script>alert(1)</script>"}}`)
	require.Contains(t, b.shown(t), "<script>alert(1)</script>")
	require.Zero(t, eval[float64](t, b, `document.querySelectorAll("#shown img, #shown script").length`))

	b.do(t, `restart("a test")`)
	b.write(t, "objects", `{apiVersion: v1, kind: ConfigMap, metadata: {name: after}}`)
	require.Contains(t, b.shown(t), "ConfigMap after")
}

// tryLinks opens what the address says after a change.
func (b *browser) tryLinks(t *testing.T) {
	b.choose(t, "status", 0)
	b.write(t, "objects", `{apiVersion: v1, kind: Pod, metadata: {name: é🐣}, status: {phase: Failed}}`)
	b.wait(t, `location.hash.startsWith("#status=")`)
	link := eval[string](t, b, `location.href`)
	b.open(t, "about:blank")
	b.open(t, link)
	require.Contains(t, b.shown(t), "é🐣")
	b.do(t, `location.hash = "#lives=damaged"`)
	b.wait(t, `$("shown").textContent.includes("pod-create")`)
	require.Contains(t, eval[string](t, b, `$("hint").textContent`), "The link is damaged")
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
		b.wrong = append(b.wrong, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
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

// emulate sets the colors and the width of the window.
func (b *browser) emulate(t *testing.T, scheme string, width int64) {
	t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 1500)))
}

// open opens an address, and waits for the first answer.
func (b *browser) open(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(address)))
	if !strings.HasPrefix(address, "about:") {
		b.wait(t, `document.documentElement.dataset.answered !== undefined`)
	}
}

// wait waits until an expression is true.
func (b *browser) wait(t *testing.T, expression string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !eval[bool](t, b, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "%s: %s %q", expression, eval[string](t, b, `document.getElementById("state").textContent`), b.errors())
	}
}

// eval returns the value of an expression, of a promise when it is resolved.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err, expression)
	return value
}

// do runs statements.
func (b *browser) do(t *testing.T, statements string) {
	t.Helper()
	eval[bool](t, b, "(() => { "+statements+"; return true })()")
}

// shown returns the text of the answer, when no answer is awaited.
func (b *browser) shown(t *testing.T) string {
	t.Helper()
	b.wait(t, `!busy && !pending`)
	require.Empty(t, b.errors())
	return eval[string](t, b, `$("shown").textContent`)
}

// press presses a key.
func (b *browser) press(t *testing.T, key string) {
	t.Helper()
	require.NoError(t, chromedp.Do(b.ctx, chromedp.KeyEvent(key)))
}

// picture takes one of the upper part of the page.
func (b *browser) picture(t *testing.T, to string) {
	t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o644))
}
