package hostile_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// longer multiplies floods in the make target.
func longer(n int) int {
	if os.Getenv("HOSTILE_TIMES") != "" {
		return 20 * n
	}
	return n
}

// fewer is a quarter in CI.
func fewer(n int) int {
	if os.Getenv("HOSTILE_TIMES") != "" {
		return n
	}
	return n / 4
}

// lists are odd lists, gets and paths.
func lists() (all []attack) {
	for name, query := range map[string]string{
		"version -1": "resourceVersion=-1", "version x": "resourceVersion=x", "a version of the future": "resourceVersion=99999999999999999",
		"a huge version": "resourceVersion=" + strings.Repeat("9", 100_000), "exactly 1": "resourceVersion=1&resourceVersionMatch=Exact", "exactly 0": "resourceVersion=0&resourceVersionMatch=Exact",
		"exactly the future": "resourceVersion=99999999999999999&resourceVersionMatch=Exact", "a match without a version": "resourceVersionMatch=Exact", "an odd match": "resourceVersion=1&resourceVersionMatch=x",
		"limit -1": "limit=-1", "a huge limit": "limit=9223372036854775807", "a limit that is none": "limit=x", "limit 1": "limit=1",
		"a forged continue": "continue=99:1", "continue -1": "continue=-1:-1", "a continue of another": "continue=1:0", "a continue of a server": "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vIn0",
		"a continue of a megabyte": "continue=" + strings.Repeat("1", 1<<19), "a continue past the end": "continue=1:9223372036854775807", "a continue with a version": "continue=1:1&resourceVersion=5",
		"a timeout": "timeoutSeconds=-9223372036854775808", "a huge timeout": "timeoutSeconds=9223372036854775807",
		"a watch of the future": "watch=1&resourceVersion=99999999999999999&timeoutSeconds=1", "a watch of x": "watch=1&resourceVersion=x&timeoutSeconds=1", "a watch of an old version": "watch=1&resourceVersion=1&timeoutSeconds=1",
		"initial events without a match": "watch=1&sendInitialEvents=true&timeoutSeconds=1", "initial events of a list": "sendInitialEvents=true", "a watch of a page": "watch=1&continue=1:1&limit=1&timeoutSeconds=1",
		"60,000 parameters": strings.Repeat("a=b&", 60_000), "pretty": "pretty=true", "an odd escape": "labelSelector=%zz",
	} {
		all = append(all, sends("a list with "+name, request{method: "GET", path: "/api/v1/configmaps?" + query}))
	}
	for name, path := range map[string]string{
		"dots": "/api/v1/namespaces/../../../../etc/passwd", "slashes": "/" + strings.Repeat("/", 10_000), "a long path": "/api/v1/namespaces/" + strings.Repeat("a", 1<<18),
		"escapes": "/api/v1/namespaces/%2e%2e%2f%2e%2e%2f/pods/%00", "an unknown group": "/apis/a.b.c/v1/x", "many parts": "/apis/" + strings.Repeat("a/", 100_000),
		"the specification": "/openapi/v2", "an unknown specification": "/openapi/v3/apis/x/y", "profiles": "/debug/pprof/heap", "metrics": "/metrics",
	} {
		all = append(all, sends("a path of "+name, request{method: "GET", path: path}))
	}
	return append(sorted(all),
		attack{"Tables of many objects", func(c *client) {
			inParallel(fewer(2000), func(i int) { c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "t%d"}, "data": {"a": "b"}}`, i)) })
			for _, accept := range []string{"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", protobuf, yamlType, "application/json;as=Table;v=v9;g=x", strings.Repeat("application/json,", 10_000)} {
				inParallel(4, func(int) {
					c.send(request{method: "GET", path: "/api/v1/configmaps?includeObject=Object", header: map[string]string{"Accept": accept}})
				})
			}
			c.send(request{method: "DELETE", path: configMaps})
		}},
		attack{"a list of 40 MB that nobody reads", func(c *client) {
			inParallel(40, func(i int) {
				c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "l%d"}, "data": {"a": "%s"}}`, i, strings.Repeat("x", 1<<20)))
			})
			for range 20 {
				c.raw("GET /api/v1/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Token + "\r\n\r\n").Close()
			}
		}},
		attack{"40 MB written again and again", func(c *client) {
			for n := range fewer(4) { // they take turns
				inParallel(40, func(i int) {
					c.send(request{method: "PATCH", path: fmt.Sprintf("%s/h%d?fieldManager=x&force=true", configMaps, i%10), kind: applyType,
						body: text(fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "h%d"}, "data": {"a": "%d%s"}}`, i%10, n*40+i, strings.Repeat("x", 1<<20)))})
				})
			}
		}},
	)
}

// floods are many requests.
func floods() []attack {
	flood := func(name string, n int, path, form string) attack {
		return attack{name, func(c *client) { inParallel(longer(n), func(i int) { c.post(path, fmt.Sprintf(form, i)) }) }}
	}
	return []attack{
		flood("a flood of Events", 1000, "/api/v1/namespaces/hostile/events", `{"metadata": {"name": "e%d"}, "involvedObject": {"kind": "Pod", "name": "x", "namespace": "hostile"}, "reason": "r", "message": "`+strings.Repeat("m", 900)+`", "type": "Normal"}`),
		flood("a flood of Leases", 500, "/apis/coordination.k8s.io/v1/namespaces/hostile/leases", `{"metadata": {"name": "l%d"}}`),
		flood("a flood of Secrets", 500, "/api/v1/namespaces/hostile/secrets", `{"metadata": {"name": "s%d"}, "stringData": {"a": "b"}}`),
		flood("a flood of refusals", 500, configMaps, `{"metadata": {"name": "UPPER%d"}}`),
		flood("a flood of Pods", 300, "/api/v1/namespaces/hostile/pods", `{"metadata": {"name": "p%d"}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}}`),
		flood("a flood of namespaces", 50, "/api/v1/namespaces", `{"metadata": {"name": "hostile-%d"}}`),
		{"many field managers", func(c *client) { manage(c, longer(200)) }},
		{"large ConfigMaps that come and go", func(c *client) {
			inParallel(longer(100), func(i int) { c.come(i, 1<<20); c.goAway(i) })
		}},
		{"large lists of which one page is read", func(c *client) {
			const large = 10
			for n := range longer(8) {
				inParallel(large, func(i int) { c.come(n*large+i, 1<<20) })
				c.get(configMaps + "?limit=1")
				inParallel(large, func(i int) { c.goAway(n*large + i) })
			}
		}},
		{"large bodies at once", func(c *client) {
			body := fmt.Sprintf(`{"metadata": {"name": "x"}, "data": %s}`, members(25_000))
			inParallel(8, func(int) { c.post(configMaps, body) })
		}},
		{"writes of one object at once", func(c *client) {
			c.post(configMaps, `{"metadata": {"name": "target"}}`)
			inParallel(500, func(i int) { c.patch(configMaps+"/target", mergeType, fmt.Sprintf(`{"data": {"n": "%d"}}`, i)) })
		}},
		{"clients that leave", func(c *client) {
			body := fmt.Sprintf(`{"metadata": {"name": "x"}, "data": %s}`, members(25_000))
			inParallel(40, func(i int) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Millisecond)
				defer cancel()
				c.sendWithin(ctx, request{method: "POST", path: configMaps, kind: jsonType, body: text(body)})
			})
		}},
	}
}

// come creates a ConfigMap with a text that no other has.
func (c *client) come(i, size int) {
	c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "large%d"}, "data": {"a%[1]d": "%[1]d%[2]s"}}`, i, strings.Repeat("x", size)))
}

// goAway deletes it.
func (c *client) goAway(i int) {
	c.send(request{method: "DELETE", path: fmt.Sprintf("%s/large%d", configMaps, i)})
}

// dial opens a connection with TLS; nil without one.
func (c *client) dial() net.Conn {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(c.CA))
	conn, err := tls.Dial("tcp", c.host(), &tls.Config{RootCAs: pool})
	if err != nil {
		return nil
	}
	return conn
}

// closed is a connection that could not be opened.
type closed struct{ net.Conn }

func (closed) Close() error { return nil }

// raw sends bytes, and returns the connection without reading.
func (c *client) raw(data string) net.Conn {
	conn := c.dial()
	if conn == nil {
		return closed{}
	}
	_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, data)
	return conn
}

// many opens connections that all send the same, and keeps them for a while.
func (c *client) many(n int, data string) {
	var all []net.Conn
	for range n {
		all = append(all, c.raw(data))
	}
	for range 50 {
		c.get(probedMaps + "sentinel")
	}
	for _, conn := range all {
		_ = conn.Close()
	}
}

// connections are clients that do not speak as they should.
func connections() []attack {
	head := func(c *client, first string) string {
		return first + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Token + "\r\n"
	}
	watch := "/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	return []attack{
		{"connections without a handshake", func(c *client) {
			var all []net.Conn
			for range 100 {
				if conn, err := net.Dial("tcp", c.host()); err == nil {
					all = append(all, conn)
				}
			}
			c.get(probedMaps + "sentinel")
			for _, conn := range all {
				_ = conn.Close()
			}
		}},
		{"half a header", func(c *client) { c.many(50, "GET /api HTTP/1.1\r\nHost: x\r\nX-A: ") }},
		{"half a body", func(c *client) {
			c.many(50, head(c, "POST "+configMaps)+"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
		}},
		{"half a body without the token", func(c *client) {
			c.many(50, "POST "+configMaps+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
		}},
		{"idle connections", func(c *client) { c.many(50, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n") }},
		{"a body in chunks without end", func(c *client) {
			c.many(20, head(c, "POST "+configMaps)+"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat("5\r\n{\"a\":\r\n", 1000))
		}},
		{"chunks of a forged length", func(c *client) {
			c.many(20, head(c, "POST "+configMaps)+"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{")
		}},
		{"two lengths", func(c *client) {
			c.many(5, head(c, "POST "+configMaps)+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api HTTP/1.1\r\n\r\n")
		}},
		{"a header without end", func(c *client) { c.many(5, "GET /api HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("X-A: b\r\n", 200_000)) }},
		{"requests in a row", func(c *client) { c.many(5, strings.Repeat(head(c, "GET "+probedMaps+"sentinel")+"\r\n", 500)) }},
		{"garbage", func(c *client) { c.many(20, strings.Repeat("\x00\xff\r\n", 10_000)) }},
		{"another protocol", func(c *client) { c.many(20, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+strings.Repeat("\xff", 10_000)) }},
		{"watches that nobody reads", func(c *client) {
			var all []net.Conn
			for range longer(100) {
				all = append(all, c.raw(head(c, "GET "+watch)+"\r\n"))
			}
			for i := range 20 {
				c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "w%d"}, "data": {"a": "%s"}}`, i, strings.Repeat("x", 200_000)))
			}
			for _, conn := range all {
				_ = conn.Close()
			}
		}},
		{"watches whose clients leave at once", func(c *client) {
			for range 100 {
				c.raw(head(c, "GET /api/v1/pods?watch=1") + "\r\n").Close()
			}
		}},
		{"a watch that is read slowly", func(c *client) {
			conn := c.raw(head(c, "GET "+watch) + "\r\n")
			defer conn.Close()
			if _, is := conn.(closed); is {
				return
			}
			in := bufio.NewReaderSize(conn, 16)
			for i := range 50 {
				c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "r%d"}, "data": {"a": "%s"}}`, i, strings.Repeat("x", 10_000)))
				_, _ = in.ReadByte()
			}
		}},
	}
}
