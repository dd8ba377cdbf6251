// Page builds the page to play with: one HTML file, which has the program as WebAssembly. It needs no server: it can
// be opened from a disk, or be put on any static host. Page prints the file to standard output, and its sizes to
// standard error.
//
//	go run . >index.html
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	source := flag.String("source", "../..", "the `folder` of the command")
	flag.Parse()
	page, err := build(*source)
	if err == nil {
		_, err = os.Stdout.Write(page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
	packed, _ := compress(page) // has worked before
	fmt.Fprintf(os.Stderr, "%.1f MB, %.1f MB compressed by gzip\n", float64(len(page))/1e6, float64(len(packed))/1e6)
}

// build builds the page.
func build(source string) ([]byte, error) {
	program, err := buildProgram(source)
	if err != nil {
		return nil, err
	}
	return assemble(source, program)
}

// buildProgram builds the program for browsers, without paths, version control data and a build ID of the machine.
// Functions are not inlined: the page is a sixth smaller, and answers as fast.
func buildProgram(source string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "page.wasm")
	cmd := exec.Command("go", "build", "-gcflags=all=-l", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", file, "./page")
	cmd.Dir, cmd.Stderr = source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	return os.ReadFile(file)
}

// assemble puts everything into one file.
func assemble(source string, program []byte) ([]byte, error) {
	packed, err := compress(program)
	if err != nil {
		return nil, err
	}
	glue, err := wasmExec()
	if err != nil {
		return nil, err
	}
	examples, err := examplesOf(source)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, name := range []string{"index.html", "page.css", "page.js", "worker.js"} {
		text, err := os.ReadFile(filepath.Join(source, "page", "web", name))
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	script := "\n" + texts["page.js"]
	page := texts["index.html"]
	for _, part := range []struct{ name, text string }{
		{"policy", policyOf(script)}, {"style", "\n" + texts["page.css"]}, {"examples", examples},
		{"worker", "\n" + glue + texts["worker.js"]}, {"script", script},
	} {
		if strings.Contains(part.text, "</script") || strings.Contains(part.text, "<!--") {
			return nil, fmt.Errorf("the part %s would end its element", part.name)
		}
		page = strings.Replace(page, "{{"+part.name+"}}", part.text, 1)
	}
	return []byte(strings.Replace(page, "{{program}}", elementsOf(packed), 1)), nil
}

// feed is the script after each part of the program. It is one text, so that the policy needs one hash for all of them.
const feed = "feed()"

// partSize is the number of bytes of a part of the program.
const partSize = 3 << 18

// elementsOf returns the program as elements of HTML: parts, each with a script that sends it to the worker. A browser
// runs the script before it reads the next part. It reads the text of a template in two thirds of the time that it needs
// for that of a script.
func elementsOf(packed []byte) string {
	var text strings.Builder
	for part := range slices.Chunk(packed, partSize) {
		fmt.Fprintf(&text, "<template>%s</template><script>%s</script>\n", base64.StdEncoding.EncodeToString(part), feed)
	}
	return text.String()
}

// policyOf returns a Content-Security-Policy that allows the scripts of the page, and no others, and no network.
func policyOf(script string) string {
	return "default-src 'none'; script-src " + hashOf(script) + " " + hashOf(feed) + " 'wasm-unsafe-eval'; worker-src blob:; frame-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
}

// hashOf returns the hash of a script as a policy has it.
func hashOf(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// wasmExec returns the script of the Go distribution that runs a program of this Go.
func wasmExec() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return string(text), err
}

// compress compresses data as well as gzip can.
func compress(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// examplesOf returns the examples as JSON, with the content of their files.
func examplesOf(source string) (string, error) {
	text, err := os.ReadFile(filepath.Join(source, "page", "examples.json"))
	if err != nil {
		return "", err
	}
	var examples []map[string]any
	if err := json.Unmarshal(text, &examples); err != nil {
		return "", err
	}
	for _, example := range examples {
		for name, value := range example {
			files, isList := value.([]any)
			if !isList {
				continue
			}
			var texts []string
			for _, file := range files {
				text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(fmt.Sprint(file))))
				if err != nil {
					return "", err
				}
				texts = append(texts, string(text))
			}
			example[name] = strings.Join(texts, "---\n")
		}
	}
	all, err := json.Marshal(examples) // escapes < as \u003c
	return string(all), err
}
