package kwok

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// Host says what clients may reach of this machine. The zero value is nothing: requests that need
// it fail with an error that says so.
type Host struct {
	// Files is where log files are read. Paths of rules are cleaned, and relative to its root.
	Files fs.FS
	// Run runs a command of a client on this machine, or wherever it likes, and returns its exit code.
	// A client that may exec into a Pod runs any command there.
	Run func(context.Context, HostCommand) (code int, err error)
	// Dial connects with the target of a PortForward. &net.Dialer{}.DialContext connects with
	// everything that this machine reaches.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// A HostCommand is a command with what the rule says of its process.
type HostCommand struct {
	containers.Command
	// Env are variables as NAME=value, Dir is the working directory or "".
	Env []string
	Dir string
}

// Options returns the functions that do what the rules say.
func (r *Rules) Options(h Host) containers.Options {
	d := &doors{r, h}
	o := containers.Options{}
	if len(r.logs) > 0 {
		o.Logs = d.logs
	}
	if len(r.execs) > 0 {
		o.Exec = d.exec
	}
	if len(r.attaches) > 0 {
		o.Attach = d.attach
	}
	if len(r.forwards) > 0 {
		o.PortForward = d.forward
	}
	if len(r.usages) > 0 {
		o.Usage = d.usage
	}
	if len(r.metrics) > 0 {
		o.Kubelet = d.kubelet
	}
	return o
}

type doors struct {
	*Rules
	host Host
}

// refused is the error of a request that Host does not allow.
func refused(what, field string) error {
	return fmt.Errorf("%s of this machine is not allowed: set %s of kwok.Host", what, field)
}

func (d *doors) logs(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
	item, found := d.Rules.logs.of(c.Pod, func(l logs) bool { return slices.Contains(l.Containers, c.Name) }, func(l logs) bool { return len(l.Containers) == 0 })
	file := item.LogsFile
	if c.Previous {
		file = item.PreviousLogsFile
	}
	if !found || file == nil {
		return nil, containers.ErrNotSimulated
	}
	return d.read(*file, c.Started)
}

// read returns the lines of a file. Those without a time are printed at the start.
func (d *doors) read(name string, start time.Time) (iter.Seq[containers.Line], error) {
	if d.host.Files == nil {
		return nil, refused("the file "+strconv.Quote(name), "Files")
	}
	file, err := d.host.Files.Open(strings.TrimPrefix(path.Clean("/"+name), "/"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := []containers.Line{}
	scanner := bufio.NewScanner(io.LimitReader(file, maxLog))
	scanner.Buffer(nil, 1<<20)
	for at := start; scanner.Scan(); {
		line := lineOf(scanner.Text())
		if line.Time.IsZero() {
			line.Time = at
		}
		at = line.Time
		lines = append(lines, line)
	}
	return slices.Values(lines), scanner.Err()
}

// maxLog is how much of a file is read.
const maxLog = 64 << 20

// lineOf reads a line in the form of a container runtime, or any other line.
func lineOf(text string) containers.Line {
	words := strings.SplitN(text, " ", 4)
	if len(words) == 4 && (words[1] == "stdout" || words[1] == "stderr") && (words[2] == "F" || words[2] == "P") {
		if at, err := time.Parse(time.RFC3339Nano, words[0]); err == nil {
			return containers.Line{Time: at, Text: words[3], Stderr: words[1] == "stderr"}
		}
	}
	return containers.Line{Text: text}
}

func (d *doors) exec(ctx context.Context, c containers.Container, command containers.Command) (int, error) {
	item, found := d.execs.of(c.Pod, func(e exec) bool { return slices.Contains(e.Containers, c.Name) }, func(e exec) bool { return len(e.Containers) == 0 })
	switch {
	case !found:
		return 0, containers.ErrNotSimulated
	case item.Local == nil:
		return 0, errors.New("the rule for exec has no local")
	case d.host.Run == nil:
		return 0, refused("a command", "Run")
	}
	host := HostCommand{Command: command, Dir: item.Local.WorkDir}
	for _, e := range item.Local.Envs {
		host.Env = append(host.Env, e.Name+"="+e.Value)
	}
	return d.host.Run(ctx, host)
}

// attach writes what is appended to the file until the client leaves.
func (d *doors) attach(ctx context.Context, c containers.Container, s containers.Streams) error {
	item, found := d.attaches.of(c.Pod, func(a attach) bool { return slices.Contains(a.Containers, c.Name) }, func(a attach) bool { return len(a.Containers) == 0 })
	if !found || item.LogsFile == nil {
		return containers.ErrNotSimulated
	}
	seen := -1
	for {
		lines, err := d.read(*item.LogsFile, c.Started)
		if err != nil {
			return err
		}
		n := 0
		for line := range lines {
			if n++; seen >= 0 && n > seen {
				if _, err := io.WriteString(s.Stdout, line.Text+"\n"); err != nil {
					return nil // the client has left
				}
			}
		}
		seen = n
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (d *doors) forward(ctx context.Context, pod *unstructured.Unstructured, port int, client io.ReadWriter) error {
	item, found := d.forwards.of(pod, func(f forward) bool { return slices.Contains(f.Ports, int32(port)) }, func(f forward) bool { return len(f.Ports) == 0 })
	switch {
	case !found:
		return containers.ErrNotSimulated
	case len(item.Command) > 0 && d.host.Run == nil:
		return refused("a command", "Run")
	case len(item.Command) > 0:
		streams := containers.Streams{Stdin: client, Stdout: client, Stderr: io.Discard}
		_, err := d.host.Run(ctx, HostCommand{Command: containers.Command{Argv: item.Command, Streams: streams}})
		return err
	case item.Target == nil:
		return errors.New("the rule for port-forward has no target and no command")
	case d.host.Dial == nil:
		return refused("the network", "Dial")
	}
	conn, err := d.host.Dial(ctx, "tcp", net.JoinHostPort(item.Target.Address, strconv.Itoa(int(item.Target.Port))))
	if err != nil {
		return err
	}
	return join(ctx, client, conn)
}

// join copies both ways until one side ends or the context is done.
func join(ctx context.Context, client io.ReadWriter, conn net.Conn) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = io.Copy(conn, client) // it ends with the connection of the client
		if tcp, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = tcp.CloseWrite()
		}
	}()
	_, err := io.Copy(client, conn)
	return err
}

func (d *doors) usage(c containers.Container, now time.Time) (u containers.Usage, err error) {
	item, found := d.usages.of(c.Pod, func(u usage) bool { return slices.Contains(u.Containers, c.Name) }, func(u usage) bool { return len(u.Containers) == 0 })
	if !found {
		return u, containers.ErrNotSimulated
	}
	if u.CPU, err = item.Usage["cpu"].of(c, now); err == nil {
		u.Memory, err = item.Usage["memory"].of(c, now)
	}
	return u, err
}
