package render

import netip "net/netip"
import time "time"

func Compile(text string, o Options) (*Template, error) { panic(0) }

type Env interface {
	Node(name string) Node
	PodIPs(p Pod) ([]string, error)
}

var ErrLimit error

type Error struct {
	Offset int
	Line   int
	Column int
	Err    error
}

func (*Error) Error() string { panic(0) }

func (*Error) Unwrap() error { panic(0) }

type Input struct {
	Object map[string]any
	Now    time.Time
	Seed   uint64
	Env    Env
}

type Network struct {
	_ [0]func()
}

func (*Network) Node(name string) Node { panic(0) }

func (*Network) PodIPs(p Pod) ([]string, error) { panic(0) }

func (*Network) Observe(obj map[string]any) { panic(0) }

func (*Network) Forget(obj map[string]any) { panic(0) }

type NetworkOptions struct {
	Node  Node
	CIDRs []netip.Prefix
}

func NewNetwork(o NetworkOptions) *Network { panic(0) }

type Node struct {
	Name string
	IPs  []string
	Port int
}

type Options struct {
	Funcs           map[string]any
	MissingKeyError bool
	Steps           int
	Output          int
	Version         string
	StartTime       time.Time
}

type Pod struct {
	Node        string
	HostNetwork bool
	UID         string
	Name        string
	Namespace   string
}

type Template struct {
	_ [0]func()
}

func (*Template) Text(in Input) (string, error) { panic(0) }

func (*Template) Value(in Input) (v any, ok bool, err error) { panic(0) }
